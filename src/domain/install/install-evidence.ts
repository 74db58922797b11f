/**
 * What an installer must prove before its node counts as installed: how much it wrote, and the digest of what it read back from
 * the disk afterwards, signed with the token of its boot.
 */

export interface InstallEvidence {
  /** The digest of the image as it was served; empty: there was none. */
  readonly image_sha256: string;
  readonly bytes_written: number;
  /** The digest of the bytes that were read back from the disk. */
  readonly sha256: string;
  /** HMAC-SHA-256 of `evidenceMessage` with the boot token, in lower-case hex digits. */
  readonly signature: string;
}

/** What the boot was served, as far as it is known without unpacking the image. */
export interface WantedDisk {
  /** The digest of the image as it is served; empty: there is none. */
  readonly imageSha256: string;
  /** The digest and the size on the disk; empty and null: not known. */
  readonly diskSha256: string;
  readonly diskBytes: number | null;
}

export function evidenceMessage(mac: string, evidence: Omit<InstallEvidence, 'signature'>): string {
  const { image_sha256: image, bytes_written: bytes, sha256 } = evidence;
  return `ingot-evidence-1\n${mac}\n${image}\n${bytes}\n${sha256}\n`;
}

/** Why the evidence proves nothing; null: it proves the installation. */
export function evidenceProblem(
  evidence: InstallEvidence | null,
  wanted: WantedDisk,
  isSigned: (evidence: InstallEvidence) => boolean,
): string | null {
  if (evidence === null)
    return 'it has no evidence of what was written and read back from the disk; installers of earlier versions send none, so build it again with `ingot installer build`';
  if (!isSigned(evidence)) return 'its evidence is not signed with the token of its boot';
  if (evidence.image_sha256 !== wanted.imageSha256) return 'its evidence is about another image';
  if (wanted.diskBytes !== null && evidence.bytes_written !== wanted.diskBytes)
    return `it wrote ${evidence.bytes_written} bytes, and the image has ${wanted.diskBytes}`;
  if (wanted.diskSha256 !== '' && evidence.sha256 !== wanted.diskSha256)
    return 'what was read back from the disk is not the image';
  return null;
}
