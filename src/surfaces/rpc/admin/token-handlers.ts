/** Tokens and plans. */
import { type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type Caller,
  coversGrant,
  type Grant,
  grantOf,
  type RoleTable,
} from '../../../domain/access/caller.ts';
import { narrowed, parseScope } from '../../../domain/access/scope.ts';
import { ROLES } from '../../../domain/actor.ts';
import { inAnyCase } from '../../../domain/any-case.ts';
import { Fault, invalidField, missingField } from '../../../domain/error/fault.ts';
import type { AdminService, TokenSchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { PlanSchema } from '../../../gen/baremetal/v1/plan_pb.ts';
import { checkPlan } from '../../../operations/plans/plan-input.ts';
import { createPlan } from '../../../operations/plans/plans.ts';
import {
  createToken,
  listTokens,
  newSecret,
  revokeToken,
  rotateToken,
  type Token,
} from '../../../store/tokens.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { planMessage } from '../v1/to-proto.ts';

/** A Timestamp holds no later time, and JSON writes none. */
const YEAR_10000 = Date.UTC(10_000, 0);
const DAY_SECONDS = 86_400;
const MAX_OVERLAP_SECONDS = 30 * DAY_SECONDS;
const TOKEN_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._@-]{0,62}[A-Za-z0-9])?$/;

export function tokenHandlers(
  dependencies: ServerDependencies,
): Pick<
  Handlers<typeof AdminService>,
  'createPlan' | 'createToken' | 'listTokens' | 'revokeToken' | 'rotateToken'
> {
  return {
    async createPlan({ plan }, { caller }) {
      if (!plan) throw missingField('plan');
      const checked = checkPlan(toJson(PlanSchema, plan, { useProtoFieldName: true }));
      const created = await createPlan(dependencies.database, checked, caller);
      return planMessage(created, dependencies.stepDefaults);
    },

    async createToken(request, { caller }) {
      const name = checkTokenName(request.name);
      const role = checkRole(dependencies.roles, request.role, caller);
      const scope = narrowed(caller.scope, parseScope(request.scope));
      const now = dependencies.now();
      const expiresAt = expiryOf(request, now) ?? new Date(now.getTime() + dependencies.tokenLifetimeMs);
      const secret = newSecret();
      const token = await createToken(dependencies.database, {
        name,
        role,
        scope,
        within: caller.scope,
        expiresAt: expiresAt === 'never' ? null : expiresAt,
        secret,
        actor: caller.actor,
      });
      return { token: tokenMessage(token), secret };
    },

    async listTokens(_request, { caller }) {
      return { tokens: (await listTokens(dependencies.database, caller.scope)).map(tokenMessage) };
    },

    async revokeToken(request, { caller }) {
      const token = await revokeToken(dependencies.database, {
        name: checkTokenName(request.name),
        within: caller.scope,
        actor: caller.actor,
      });
      dependencies.tokensChanged();
      return tokenMessage(token);
    },

    async rotateToken(request, { caller }) {
      await checkMayHold(dependencies, request.name, caller);
      const secret = newSecret();
      const expiresAt = expiryOf(request, dependencies.now()) ?? 'same lifetime';
      const token = await rotateToken(dependencies.database, {
        name: checkTokenName(request.name),
        within: caller.scope,
        secret,
        overlapSeconds: checkOverlap(request.overlapSeconds),
        expiresAt: expiresAt === 'never' ? null : expiresAt,
        actor: caller.actor,
      });
      dependencies.tokensChanged();
      return { token: tokenMessage(token), secret };
    },
  };
}

/** Null: the caller names none. */
function expiryOf(
  request: { readonly expiresAt?: Timestamp | undefined; readonly noExpiry: boolean },
  now: Date,
): Date | 'never' | null {
  if (!request.expiresAt) return request.noExpiry ? 'never' : null;
  if (request.noExpiry) throw invalidField('no_expiry', 'must not be set together with expires_at');
  const expiresAt = timestampDate(request.expiresAt);
  if (expiresAt > now && expiresAt.getTime() < YEAR_10000) return expiresAt;
  throw invalidField('expires_at', 'must be in the future, and before the year 10000');
}

function checkOverlap(seconds: bigint | undefined): number {
  const overlap = Number(seconds ?? DAY_SECONDS);
  if (overlap >= 0 && overlap <= MAX_OVERLAP_SECONDS) return overlap;
  throw invalidField('overlap_seconds', `must be from 0 to ${MAX_OVERLAP_SECONDS}`);
}

function checkTokenName(name: string): string {
  if (name === '') throw missingField('name');
  if (!TOKEN_NAME.test(name))
    throw invalidField('name', 'must be 1 to 64 letters, digits, ".", "_", "@" or "-"');
  return name;
}

/** The caller of a rotation gets the token's secret: it must be allowed to do what the token is. */
async function checkMayHold(
  { database, roles }: ServerDependencies,
  name: string,
  caller: Caller,
): Promise<void> {
  const tokens = await listTokens(database, caller.scope);
  const live = tokens.find((token) => token.name === name && token.revokedAt === null);
  if (live) checkCovers(caller, grantOf(roles, { role: live.role, scope: null }));
}

/** A token may do no more than the one that creates it. */
function checkRole(roles: RoleTable, role: string, caller: Caller): string {
  const known = inAnyCase([...ROLES, ...roles.keys()], role);
  if (!known) throw invalidField('role', `must be one of ${[...ROLES, ...roles.keys()].join(', ')}`);
  checkCovers(caller, grantOf(roles, { role: known, scope: null }));
  return known;
}

function checkCovers(caller: Caller, grant: Grant): void {
  if (coversGrant(caller, grant)) return;
  throw new Fault('PERMISSION_DENIED', {
    message: `a token of the role ${grant.role} could do more than ${caller.actor.id}, which has ${caller.role}`,
    metadata: { needed: grant.role, role: caller.role },
  });
}

function tokenMessage(token: Token): MessageInitShape<typeof TokenSchema> {
  return {
    name: token.name,
    role: token.role,
    scope: token.scope,
    createdBy: token.createdBy,
    createdAt: timestampFromDate(token.createdAt),
    ...(token.expiresAt && { expiresAt: timestampFromDate(token.expiresAt) }),
    ...(token.revokedAt && { revokedAt: timestampFromDate(token.revokedAt) }),
    ...(token.rotatedAt && { rotatedAt: timestampFromDate(token.rotatedAt) }),
    ...(token.previousExpiresAt && { previousExpiresAt: timestampFromDate(token.previousExpiresAt) }),
    ...(token.lastUsedAt && { lastUsedAt: timestampFromDate(token.lastUsedAt) }),
    lastUsedFrom: token.lastUsedFrom,
  };
}
