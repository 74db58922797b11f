/** Identities of issuers and client certificates: when each was used last, and ending or restoring its access. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { needsWholeFleet } from '../../../domain/access/scope.ts';
import { Fault, invalidField, missingField } from '../../../domain/error/fault.ts';
import { checkText } from '../../../domain/machine/machine-input.ts';
import type { AdminService, KnownIdentitySchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import {
  endIdentity,
  type KnownIdentity,
  listIdentities,
  restoreIdentity,
} from '../../../store/identities.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { optionalReason, requiredReason } from './required-reason.ts';

const MAX_IDENTITY = 256;

type Calls = 'listIdentities' | 'revokeIdentity' | 'restoreIdentity';

export function identityHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof AdminService>, Calls> {
  return {
    async listIdentities(_request, { caller }) {
      return { identities: (await listIdentities(dependencies.database, caller.scope)).map(identityMessage) };
    },

    async revokeIdentity(request, { caller }) {
      const identity = checkIdentity(request.identity);
      if (caller.scope !== null) throw needsWholeFleet('an identity', caller.scope);
      if (identity === caller.actor.id)
        throw invalidField('identity', 'must not be your own: another admin has to revoke it');
      const at = request.at ? timestampDate(request.at) : null;
      if (at !== null && at <= dependencies.now()) throw invalidField('at', 'must be in the future');
      const reason = requiredReason(request.reason);
      const ended = await endIdentity(dependencies.database, { identity, at, actor: caller.actor, reason });
      dependencies.tokensChanged();
      return identityMessage(ended);
    },

    async restoreIdentity(request, { caller }) {
      const identity = checkIdentity(request.identity);
      if (caller.scope !== null) throw needsWholeFleet('an identity', caller.scope);
      const reason = optionalReason(request.reason);
      const restored = await restoreIdentity(dependencies.database, {
        identity,
        actor: caller.actor,
        reason,
      });
      if (!restored)
        throw new Fault('IDENTITY_NOT_REVOKED', {
          message: `the access of ${identity} was not revoked`,
          metadata: { identity },
        });
      dependencies.tokensChanged();
      return identityMessage(restored);
    },
  };
}

/** An issuer's identity or a certificate's, as events name them. A token has a name without a colon, and calls of its own. */
function checkIdentity(text: string): string {
  if (text === '') throw missingField('identity');
  const identity = checkText(text, 'identity', MAX_IDENTITY);
  if (!identity.includes(':'))
    throw invalidField(
      'identity',
      'must be <issuer>:<name> or certificate:<name>; RevokeToken is for tokens',
    );
  return identity;
}

function identityMessage(known: KnownIdentity): MessageInitShape<typeof KnownIdentitySchema> {
  const { identity, way, issuer, role, scope, lastUsedFrom, endedBy, endReason } = known;
  return {
    ...{ identity, way, issuer, role, scope, lastUsedFrom, endedBy, endReason },
    ...(known.firstUsedAt && { firstUsedAt: timestampFromDate(known.firstUsedAt) }),
    ...(known.lastUsedAt && { lastUsedAt: timestampFromDate(known.lastUsedAt) }),
    ...(known.endsAt && { endsAt: timestampFromDate(known.endsAt) }),
  };
}
