/** Who is let in: the ways in, the limits of callers, and the check of open streams when credentials change. */
import type { Caller } from '../../domain/access/caller.ts';
import { readCredentialState } from '../../store/credential-changes.ts';
import type { Database } from '../../store/database/database.ts';
import { readDeploymentSuffix } from '../../store/deployment.ts';
import { IdentityUses } from '../../store/identity-uses.ts';
import { TokenUses } from '../../store/token-uses.ts';
import { Authenticator } from '../../surfaces/access/authenticator.ts';
import { CertificateWayIn } from '../../surfaces/access/certificate-way-in.ts';
import { certificateMappings } from '../../surfaces/access/certificates-configuration.ts';
import { IdentityEnds } from '../../surfaces/access/identity-ends.ts';
import { MachineCertificates } from '../../surfaces/access/machine-certificates.ts';
import type { Issuers } from '../../surfaces/access/oidc/issuers.ts';
import { OidcWayIn } from '../../surfaces/access/oidc/oidc-way-in.ts';
import { OpenStreams } from '../../surfaces/access/open-streams.ts';
import type { CookieSettings } from '../../surfaces/access/session-cookie.ts';
import { type SessionLimits, SessionWayIn } from '../../surfaces/access/session-way-in.ts';
import { TokenWayIn } from '../../surfaces/access/token-way-in.ts';
import { TrustedProxies } from '../../surfaces/access/trusted-proxies.ts';
import { RequestLimits } from '../../surfaces/limits/request-limits.ts';
import { MachineTokens } from '../../surfaces/machine-tokens.ts';
import { createIssuers } from './create-issuers.ts';
import type { LoopHealth } from './loop-health.ts';
import type { ReplicaOptions } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';

export interface AccessParts {
  readonly database: Database;
  readonly loops: LoopHealth;
  readonly running: RunningParts;
}

/** What decides about a call before its handler does. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly issuers: Issuers;
  readonly sessions: SessionLimits & CookieSettings;
  readonly limits: RequestLimits;
  readonly streams: OpenStreams;
  readonly proxies: TrustedProxies;
  readonly machineTokens: MachineTokens;
  readonly machineCertificates: MachineCertificates;
}

export interface StartedAccess {
  readonly access: Access;
  /** Credentials were revoked, rotated or issued, here or on another replica. */
  readonly credentialsChanged: () => void;
}

export async function startAccess(
  options: ReplicaOptions,
  { database, loops, running }: AccessParts,
): Promise<StartedAccess> {
  const { configuration } = options;
  const sessions = { ...configuration.sessions, cookieSuffix: await readDeploymentSuffix(database) };
  const { roles } = configuration;
  const issuers = createIssuers(options);
  const certificates = certificateMappings(configuration.certificates);
  const limits = new RequestLimits(configuration.limits, () => performance.now());
  const uses = new TokenUses({ database, watch: loops.withoutReadiness, now: Date.now });
  running.start(uses);
  const identityUses = new IdentityUses({ database, watch: loops.withoutReadiness, now: Date.now });
  running.start(identityUses);
  const ends = new IdentityEnds(database, Date.now);
  const waysIn = [
    new OidcWayIn(issuers, ends, Date.now),
    new TokenWayIn(database, roles, Date.now),
    new SessionWayIn(database, { roles, sessions, issuers, ends }, Date.now),
    new CertificateWayIn(
      certificates,
      { roles, publicUrl: configuration.sessions.publicUrl, ends },
      Date.now,
    ),
  ];
  const authenticator = new Authenticator(waysIn, {
    limits,
    onUse: (caller) => {
      if (caller.via === 'token') uses.note(caller.actor.id, caller.address);
      else noteIdentity(identityUses, caller);
    },
  });
  const machineTokens = new MachineTokens(database, Date.now);
  const machineCertificates = new MachineCertificates(database, certificates, Date.now);
  const credentialsChanged = () => {
    for (const cache of [ends, authenticator, machineTokens, machineCertificates]) cache.forget();
    streams.checkAll();
  };
  const streams = new OpenStreams({
    now: Date.now,
    watch: loops.withoutReadiness,
    readState: () => readCredentialState(database),
    onMissedChange: credentialsChanged,
  });
  running.start(streams);
  return {
    access: {
      authenticator,
      issuers,
      sessions,
      limits,
      streams,
      proxies: new TrustedProxies(configuration.trusted_proxies),
      machineTokens,
      machineCertificates,
    },
    credentialsChanged,
  };
}

/** A session stands for a token or for an identity of an issuer. */
function noteIdentity(uses: IdentityUses, { via, issuer = '', actor, role, scope, address }: Caller): void {
  if (issuer === '' && via !== 'certificate') return;
  uses.note({
    identity: actor.id,
    way: via === 'certificate' ? 'certificate' : 'oidc',
    issuer,
    role,
    scope: scope?.text ?? '',
    scopeTerms: scope?.terms ?? [],
    address,
  });
}
