/** baremetal.admin.v1.AdminService: flags, agents' machines and pools, plans and tokens. */
import { type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Actor, actorLabel, ROLES, type Role } from '../../../domain/actor.ts';
import { POOL_RULE } from '../../../domain/agent/agent.ts';
import { inAnyCase } from '../../../domain/any-case.ts';
import { type UpstreamView, upstreamView } from '../../../domain/condition/upstream-view.ts';
import { invalidField, missingField } from '../../../domain/error/fault.ts';
import { OVERWRITES, type Overwrite } from '../../../domain/install/erasure.ts';
import {
  checkImageRef,
  checkMachineId,
  checkOperationId,
  checkRequestId,
  checkText,
} from '../../../domain/machine/machine-input.ts';
import { explain } from '../../../domain/operation/explain.ts';
import { commandFor, nextActionFor } from '../../../domain/operation/next-action.ts';
import { OPERATOR_ACTION_NAMES, type OperatorAction } from '../../../domain/operation/operator-action.ts';
import { DECOMMISSION_MODE_NAMES, type DecommissionMode } from '../../../domain/workflow/stage.ts';
import {
  AdminService,
  DecommissionMode_Value,
  MachineFlag_Value,
  OperatorAction_Value,
  Overwrite_Value,
  type TokenSchema,
  type UpstreamViewSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { PlanSchema } from '../../../gen/baremetal/v1/plan_pb.ts';
import { actOnOperation } from '../../../operations/act/act-on-operation.ts';
import { createAgentMachine } from '../../../operations/agents/agent-machines.ts';
import { type AdminFlag, setFlag } from '../../../operations/machines/flags.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { setServiceState } from '../../../operations/machines/set-service-state.ts';
import { checkPlan } from '../../../operations/plans/plan-input.ts';
import { createPlan } from '../../../operations/plans/plans.ts';
import { eraseMachine } from '../../../operations/start/erase-machine.ts';
import { migrateMachine } from '../../../operations/start/migrate-machine.ts';
import type { MachineCall } from '../../../operations/start/start-on-machine.ts';
import {
  decommissionMachine,
  drainMachine,
  onboardMachine,
  removeMachine,
} from '../../../operations/start/workflows.ts';
import { readPool, readPoolHealth } from '../../../store/agents/pool-health.ts';
import { createPool, poolNotFound } from '../../../store/agents/pools.ts';
import { lastServiceMover } from '../../../store/machines/service-machines.ts';
import { readUpstreamReads } from '../../../store/machines/upstream-reads.ts';
import { findNode } from '../../../store/nodes/nodes.ts';
import { findOperation, lastOperationOf } from '../../../store/operations/find-operations.ts';
import { listActions } from '../../../store/operations/list-actions.ts';
import { operationNotFound } from '../../../store/operations/operation-faults.ts';
import { createToken, listTokens, newSecret, revokeToken, type Token } from '../../../store/tokens.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { type CallContext, defineService, type Service } from '../service.ts';
import { planMessage } from '../v1/to-proto.ts';
import { machineMessage, operationMessage } from '../v2/to-proto.ts';
import { poolMessage } from './pool-message.ts';

/** No later time has a place in a Timestamp, and none can be written as JSON. */
const YEAR_10000 = Date.UTC(10_000, 0);

const MAX_ACTIONS = 100;

const TOKEN_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._@-]{0,62}[A-Za-z0-9])?$/;

export function adminService(parts: ServerDependencies): Service {
  const flag = async (
    request: { machineId: string; reason: string },
    type: AdminFlag,
    status: boolean,
    context: CallContext,
  ) => {
    const machineId = checkMachineId(request.machineId);
    const reason = requiredReason(request.reason);
    const { actor } = context.caller;
    return machineMessage(await setFlag(parts.database, { machineId, flag: type, status, reason, actor }));
  };

  return defineService(
    AdminService,
    {
      flagMachine: (request, context) => flag(request, flagOf(request.flag), true, context),
      unflagMachine: (request, context) => flag(request, flagOf(request.flag), false, context),
      clearNeedsIntervention: (request, context) => flag(request, 'NeedsIntervention', false, context),

      async createMachine(request, { caller }) {
        const { machine, secret, expiresAt } = await createAgentMachine(parts, {
          pool: request.pool,
          provider: request.provider,
          machineId: request.machineId === '' ? '' : checkMachineId(request.machineId),
          actor: caller.actor,
          now: parts.now(),
        });
        parts.tokensChanged();
        return { machine: machineMessage(machine), token: secret, expiresAt: timestampFromDate(expiresAt) };
      },

      async createPool(request, { caller }) {
        if (request.name === '') throw missingField('name');
        if (!POOL_RULE.test(request.name))
          throw invalidField('name', 'must be 1 to 63 letters, digits, ".", "_" or "-"');
        const pool = await createPool(parts.database, request.name, caller.actor);
        return { name: pool.name, createdBy: pool.createdBy, createdAt: timestampFromDate(pool.createdAt) };
      },

      async listPools() {
        return { pools: (await readPoolHealth(parts.database, parts.keepalives)).map(poolMessage) };
      },

      async getPool(request) {
        if (request.name === '') throw missingField('name');
        const pool = await readPool(parts.database, parts.keepalives, request.name);
        if (!pool) throw poolNotFound(request.name);
        return poolMessage(pool);
      },

      async onboardMachine(request, { caller }) {
        const call = workflowCall(request, caller.actor);
        return operationMessage(await onboardMachine(parts, { ...call, pool: request.pool }));
      },

      async decommissionMachine(request, { caller }) {
        const call = workflowCall(request, caller.actor);
        return operationMessage(await decommissionMachine(parts, { ...call, mode: modeOf(request.mode) }));
      },

      async drainMachine(request, { caller }) {
        return operationMessage(await drainMachine(parts, workflowCall(request, caller.actor)));
      },

      async removeMachine(request, { caller }) {
        return operationMessage(await removeMachine(parts, workflowCall(request, caller.actor)));
      },

      async eraseMachine(request, { caller }) {
        const call = workflowCall(request, caller.actor);
        return operationMessage(
          await eraseMachine(parts, { ...call, overwrite: overwriteOf(request.overwrite) }),
        );
      },

      async migrateMachine(request, { caller }) {
        const call = workflowCall(request, caller.actor);
        const replacement = {
          mac_addresses: request.macAddresses,
          serial_number: request.serialNumber,
          system_uuid: request.systemUuid,
          bmc_endpoint: request.bmcEndpoint,
        };
        const image = checkImageRef(request.imageRef);
        return operationMessage(await migrateMachine(parts, { ...call, replacement, image }));
      },

      async setServiceState(request, { caller }) {
        const machine = await setServiceState(parts.database, {
          machineId: checkMachineId(request.machineId),
          to: request.service,
          reason: requiredReason(request.reason),
          actor: caller.actor,
          force: request.force,
        });
        return machineMessage(machine);
      },

      async actOnOperation(request, { caller }) {
        const operation = await actOnOperation(parts, {
          operationId: checkOperationId(request.operationId),
          action: actionOf(request.action),
          reason: requiredReason(request.reason),
          actor: caller.actor,
        });
        return operationMessage(operation);
      },

      async listOperatorActions(request) {
        const operationId = checkOperationId(request.operationId);
        const operation = await findOperation(parts.database, operationId);
        if (!operation) throw operationNotFound(operationId);
        const records = await listActions(parts.database, operationId, MAX_ACTIONS);
        const next = nextActionFor(operation);
        return {
          advice: { ...next, action: next.action ?? '', command: commandFor(operationId, next) },
          actions: records.map(({ at, from, to, ...record }) => ({
            ...record,
            at: timestampFromDate(at),
            fromStatus: from,
            toStatus: to,
          })),
        };
      },

      async explainMachine(request) {
        const machineId = checkMachineId(request.machineId);
        const machine = await parts.machines.find(machineId);
        if (!machine) throw machineNotFound(machineId);
        const operation = await lastOperationOf(parts.database, machineId);
        const node = machine.install === null ? null : await findNode(parts.database, machineId);
        const reads = await readUpstreamReads(parts.database, [machine.observed?.source ?? '']);
        const upstream = upstreamView(machine, reads.get(machine.observed?.source ?? ''));
        const { inService, summary, obstacles } = explain({
          machine,
          operation,
          node: node && { state: node.state, lastError: node.story.lastError },
          serviceMover: await lastServiceMover(parts.database, machineId),
          upstream,
        });
        return {
          ...{ inService, summary },
          obstacles: [...obstacles],
          ...(upstream && { upstream: upstreamMessage(upstream) }),
        };
      },

      async createPlan({ plan }, { caller }) {
        if (!plan) throw missingField('plan');
        const checked = checkPlan(toJson(PlanSchema, plan, { useProtoFieldName: true }));
        const created = await createPlan(parts.database, checked, actorLabel(caller.actor));
        return planMessage(created, parts.stepDefaults);
      },

      async createToken(request, { caller }) {
        const name = checkTokenName(request.name);
        const role = checkRole(request.role);
        const expiresAt = request.expiresAt ? timestampDate(request.expiresAt) : null;
        if (expiresAt !== null && !(expiresAt > parts.now() && expiresAt.getTime() < YEAR_10000))
          throw invalidField('expires_at', 'must be in the future, and before the year 10000');
        const secret = newSecret();
        const token = await createToken(parts.database, {
          name,
          role,
          expiresAt,
          secret,
          actor: caller.actor,
        });
        return { token: tokenMessage(token), secret };
      },

      async listTokens() {
        return { tokens: (await listTokens(parts.database)).map(tokenMessage) };
      },

      async revokeToken(request, { caller }) {
        const token = await revokeToken(parts.database, checkTokenName(request.name), caller.actor);
        parts.tokensChanged();
        return tokenMessage(token);
      },
    },
    {
      flagMachine: 'admin',
      unflagMachine: 'admin',
      clearNeedsIntervention: 'admin',
      createMachine: 'operator',
      createPool: 'admin',
      listPools: 'viewer',
      getPool: 'viewer',
      onboardMachine: 'operator',
      decommissionMachine: 'operator',
      drainMachine: 'operator',
      removeMachine: 'operator',
      eraseMachine: 'admin',
      migrateMachine: 'admin',
      setServiceState: 'operator',
      actOnOperation: 'operator',
      listOperatorActions: 'viewer',
      explainMachine: 'viewer',
      createPlan: 'admin',
      createToken: 'admin',
      listTokens: 'admin',
      revokeToken: 'admin',
    },
  );
}

function upstreamMessage(view: UpstreamView): MessageInitShape<typeof UpstreamViewSchema> {
  const { since, seenAt, expected, accepted, ...rest } = view;
  return {
    ...rest,
    since: timestampFromDate(since),
    seenAt: timestampFromDate(seenAt),
    expected: [...expected],
    acceptedBy: accepted?.by ?? '',
    acceptedReason: accepted?.reason ?? '',
    ...(accepted && { acceptedAt: timestampFromDate(new Date(accepted.at)) }),
  };
}

function workflowCall(request: { machineId: string; requestId: string }, actor: Actor): MachineCall {
  return {
    machineId: checkMachineId(request.machineId),
    requestId: checkRequestId(request.requestId),
    actor,
  };
}

function modeOf(value: DecommissionMode_Value): DecommissionMode {
  const mode = inAnyCase(DECOMMISSION_MODE_NAMES, DecommissionMode_Value[value] ?? '');
  if (!mode) throw invalidField('mode', `must be one of ${DECOMMISSION_MODE_NAMES.join(', ').toUpperCase()}`);
  return mode;
}

function overwriteOf(value: Overwrite_Value): Overwrite {
  if (value === Overwrite_Value.VALUE_UNSPECIFIED) return 'ends';
  const overwrite = inAnyCase(OVERWRITES, Overwrite_Value[value] ?? '');
  if (!overwrite) throw invalidField('overwrite', `must be one of ${OVERWRITES.join(', ').toUpperCase()}`);
  return overwrite;
}

function actionOf(value: OperatorAction_Value): OperatorAction {
  const action = inAnyCase(OPERATOR_ACTION_NAMES, OperatorAction_Value[value] ?? '');
  if (!action)
    throw invalidField('action', `must be one of ${OPERATOR_ACTION_NAMES.join(', ').toUpperCase()}`);
  return action;
}

function flagOf(value: MachineFlag_Value): AdminFlag {
  if (value === MachineFlag_Value.RMA) return 'RMA';
  if (value === MachineFlag_Value.RETIRED) return 'Retired';
  throw invalidField('flag', 'must be RMA or RETIRED');
}

function requiredReason(reason: string): string {
  if (reason.trim() === '') throw missingField('reason');
  return checkText(reason, 'reason', 1000);
}

function checkTokenName(name: string): string {
  if (name === '') throw missingField('name');
  if (!TOKEN_NAME.test(name))
    throw invalidField('name', 'must be 1 to 64 letters, digits, ".", "_", "@" or "-"');
  return name;
}

function checkRole(role: string): Role {
  const known = inAnyCase(ROLES, role);
  if (!known) throw invalidField('role', `must be one of ${ROLES.join(', ')}`);
  return known;
}

function tokenMessage(token: Token): MessageInitShape<typeof TokenSchema> {
  return {
    name: token.name,
    role: token.role,
    createdBy: token.createdBy,
    createdAt: timestampFromDate(token.createdAt),
    ...(token.expiresAt && { expiresAt: timestampFromDate(token.expiresAt) }),
    ...(token.revokedAt && { revokedAt: timestampFromDate(token.revokedAt) }),
  };
}
