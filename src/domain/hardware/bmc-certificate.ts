/** The certificate that a BMC shows, before anything is sent to it. */
export interface BmcCertificate {
  /** SHA-256, in lower-case hexadecimal. */
  readonly sha256: string;
  readonly subject: string;
  readonly issuer: string;
  readonly validFrom: Date;
  readonly validTo: Date;
  /** Whether an authority that is trusted has signed it for this name. */
  readonly isVerified: boolean;
}

/** As given by a person: colons and upper case allowed. Null: it is not a SHA-256. */
export function fingerprintOf(text: string): string | null {
  const plain = text.replaceAll(':', '').toLowerCase();
  return /^[0-9a-f]{64}$/.test(plain) ? plain : null;
}
