/** Client certificates: the handshake verified who signed them, and the configuration says what their names may do. */
import { actorOf, grantOf, type Identity, type RoleTable } from '../../domain/access/caller.ts';
import { unauthenticated, type WayIn } from './authenticator.ts';
import type { CertificateMapping } from './certificates-configuration.ts';
import type { Credentials } from './credentials.ts';
import { isAgentMapping, isCurrent, mappedCertificate } from './mapped-certificate.ts';

/** In events, so that no token and no certificate can have the same name. */
const PREFIX = 'certificate:';

export class CertificateWayIn implements WayIn {
  readonly #mappings: readonly CertificateMapping[];
  readonly #roles: RoleTable;
  readonly #now: () => number;

  constructor(mappings: readonly CertificateMapping[], roles: RoleTable, now: () => number) {
    this.#mappings = mappings;
    this.#roles = roles;
    this.#now = now;
  }

  identify({ certificate }: Credentials): Promise<Identity> | null {
    return certificate && this.#identityOf(certificate);
  }

  forget(): void {}

  async #identityOf(certificate: NonNullable<Credentials['certificate']>): Promise<Identity> {
    if (!isCurrent(certificate, this.#now())) throw unauthenticated('the client certificate has expired');
    const mapped = mappedCertificate(this.#mappings, certificate);
    if (!mapped)
      throw unauthenticated('no name of the client certificate is mapped to a role in the configuration');
    const { mapping, name } = mapped;
    if (isAgentMapping(mapping)) throw unauthenticated("the client certificate is an agent's");
    const actor = actorOf(mapping.role, `${PREFIX}${name.value}`);
    return {
      ...grantOf(this.#roles, mapping),
      actor,
      via: 'certificate',
      expiresAt: Date.parse(certificate.valid_to),
    };
  }
}
