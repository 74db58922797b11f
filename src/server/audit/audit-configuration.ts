/** The section `audit` of the configuration file. */
import { z } from 'zod';
import { filePath } from '../../connections/credential-reference.ts';

export const auditConfiguration = z.strictObject({
  /** The Ed25519 key that signs the audit chain; without it, audit.key in the data directory. */
  key_file: filePath.nullable().default(null),
});
