/** Reads the evidence of an installation. It counts whole or not at all: half of a proof proves nothing. */
import { z } from 'zod';
import type { InstallEvidence } from '../../../domain/install/install-evidence.ts';
import type { LenientReader } from '../../lenient.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);

const EVIDENCE = z.object({
  /** Empty: the installer was served no image. */
  image_sha256: digest.or(z.literal('')),
  bytes_written: z.int().min(1),
  sha256: digest,
  signature: digest,
});

export const readEvidence: LenientReader<InstallEvidence> = (value, field, note) => {
  if (value === undefined || value === null) return undefined;
  const read = EVIDENCE.safeParse(value);
  if (read.success) return read.data;
  note(field, 'dropped: image_sha256, bytes_written, sha256 and signature are needed');
  return undefined;
};
