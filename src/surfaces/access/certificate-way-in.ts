/** Client certificates: the handshake verified who signed them, and the configuration says what their names may do. */
import { actorOf, grantOf, type Identity, type RoleTable } from '../../domain/access/caller.ts';
import { unauthenticated, type WayIn } from './authenticator.ts';
import type { CertificateMapping } from './certificates-configuration.ts';
import type { Credentials } from './credentials.ts';
import { earlierEnd, type IdentityEnds } from './identity-ends.ts';
import { isAgentMapping, isCurrent, mappedCertificate } from './mapped-certificate.ts';
import { checkSameOrigin, isFromBrowser } from './same-origin.ts';

/** In events, so that no token and no certificate can have the same name. */
const PREFIX = 'certificate:';

export interface CertificateSettings {
  readonly roles: RoleTable;
  /** The URL under which browsers reach the console, where a proxy is in front of it. */
  readonly publicUrl: string | null;
  readonly ends: IdentityEnds;
}

export class CertificateWayIn implements WayIn {
  readonly #mappings: readonly CertificateMapping[];
  readonly #roles: RoleTable;
  readonly #publicUrl: string | null;
  readonly #ends: IdentityEnds;
  readonly #now: () => number;

  constructor(
    mappings: readonly CertificateMapping[],
    { roles, publicUrl, ends }: CertificateSettings,
    now: () => number,
  ) {
    this.#publicUrl = publicUrl;
    this.#ends = ends;
    this.#mappings = mappings;
    this.#roles = roles;
    this.#now = now;
  }

  identify({ certificate, source }: Credentials): Promise<Identity> | null {
    return certificate && this.#identityOf(certificate, source);
  }

  forget(): void {}

  async #identityOf(
    certificate: NonNullable<Credentials['certificate']>,
    source: Credentials['source'],
  ): Promise<Identity> {
    if (source && isFromBrowser(source)) checkSameOrigin(source, this.#publicUrl);
    if (!isCurrent(certificate, this.#now())) throw unauthenticated('the client certificate has expired');
    const mapped = mappedCertificate(this.#mappings, certificate);
    if (!mapped)
      throw unauthenticated('no name of the client certificate is mapped to a role in the configuration');
    const { mapping, name } = mapped;
    if (isAgentMapping(mapping)) throw unauthenticated("the client certificate is an agent's");
    const actor = actorOf(mapping.role, `${PREFIX}${name.value}`);
    const end = await this.#ends.check(actor.id);
    return {
      ...grantOf(this.#roles, mapping),
      actor,
      via: 'certificate',
      expiresAt: earlierEnd(Date.parse(certificate.valid_to), end),
    };
  }
}
