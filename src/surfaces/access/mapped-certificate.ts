/** What the configuration says of a client certificate that the TLS handshake verified. */
import type { PeerCertificate } from 'node:tls';
import { type CertificateName, certificateNames, matchName } from '../../domain/access/certificate-names.ts';
import type { AgentMapping, CertificateMapping } from './certificates-configuration.ts';

export interface MappedCertificate {
  readonly mapping: CertificateMapping;
  readonly name: CertificateName;
  /** What the star of the mapping stands for. */
  readonly rest: string;
}

/** The first mapping that matches one of the names decides; rights are never added up. */
export function mappedCertificate(
  mappings: readonly CertificateMapping[],
  certificate: PeerCertificate,
): MappedCertificate | null {
  const names = certificateNames(certificate.subjectaltname);
  for (const mapping of mappings) {
    for (const name of names) {
      const rest = matchName(mapping.pattern, name);
      if (rest !== null) return { mapping, name, rest };
    }
  }
  return null;
}

export function isAgentMapping(mapping: CertificateMapping): mapping is AgentMapping {
  return !('role' in mapping);
}

/** A connection may outlive its certificate: the handshake checked the time only once. */
export function isCurrent({ valid_from, valid_to }: PeerCertificate, now: number): boolean {
  return Date.parse(valid_from) <= now && now < Date.parse(valid_to);
}
