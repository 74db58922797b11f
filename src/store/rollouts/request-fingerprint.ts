/**
 * What a request asked for, to tell a repeated one from another one under the same id. Of a long one, which names thousands of machines,
 * the digest is kept. Rows of earlier versions have the text itself, whatever its length.
 */
import { hash } from 'node:crypto';

const LONGEST = 4_096;

export function requestFingerprint(text: string): string {
  return text.length <= LONGEST ? text : `sha256:${hash('sha256', text, 'hex')}`;
}

/** The same of a stored one, as an expression. */
export const FINGERPRINT = `CASE WHEN length(request_fingerprint) <= ${LONGEST} THEN request_fingerprint
  ELSE 'sha256:' || encode(sha256(convert_to(request_fingerprint, 'UTF8')), 'hex') END`;
