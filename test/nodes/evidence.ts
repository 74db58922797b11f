/** The evidence of an installation, as docs/nodes.md describes it. */
import { createHmac } from 'node:crypto';

export interface Written {
  readonly mac: string;
  /** The digest of the image as it is served. */
  readonly imageSha256: string;
  readonly bytesWritten: number;
  /** The digest of what was read back from the disk. */
  readonly sha256: string;
}

export function evidenceOf(token: string, { mac, imageSha256, bytesWritten, sha256 }: Written) {
  const message = `ingot-evidence-1\n${mac}\n${imageSha256}\n${bytesWritten}\n${sha256}\n`;
  return {
    image_sha256: imageSha256,
    bytes_written: bytesWritten,
    sha256,
    signature: createHmac('sha256', token).update(message).digest('hex'),
  };
}
