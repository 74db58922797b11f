/** Flags, the service state, and what keeps a machine out of service. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { actingAs, type Caller } from '../../../domain/access/caller.ts';
import { type UpstreamView, upstreamView } from '../../../domain/condition/upstream-view.ts';
import { invalidField } from '../../../domain/error/fault.ts';
import { explain } from '../../../domain/explanation/explain.ts';
import { rolloutSentence } from '../../../domain/explanation/explain-rollout.ts';
import { machineHeadline } from '../../../domain/machine/machine-headline.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import {
  type AdminService,
  type ExplanationSchema,
  MachineFlag_Value,
  type UpstreamViewSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { type AdminFlag, type FlagCall, setFlag } from '../../../operations/machines/flags.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { setServiceState } from '../../../operations/machines/set-service-state.ts';
import { lastServiceChange } from '../../../store/machines/service-machines.ts';
import { readUpstreamReads } from '../../../store/machines/upstream-reads.ts';
import { findNode } from '../../../store/nodes/nodes.ts';
import { lastOperationOf } from '../../../store/operations/find-operations.ts';
import { openRolloutOf } from '../../../store/rollouts/rollouts-at-a-glance.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { agentsOf } from '../v2/agents-of.ts';
import { availabilityFields, machineMessage } from '../v2/to-proto.ts';
import { requiredReason } from './required-reason.ts';

export function machineHandlers(
  dependencies: ServerDependencies,
): Pick<
  Handlers<typeof AdminService>,
  'flagMachine' | 'unflagMachine' | 'clearNeedsIntervention' | 'setServiceState' | 'explainMachine'
> {
  const flag = async ({ machineId, flag: type, status, reason, actor, scope }: FlagCall) => {
    const change = {
      machineId: checkMachineId(machineId),
      flag: type,
      status,
      reason: requiredReason(reason),
      ...{ actor, scope },
    };
    return machineMessage(await setFlag(dependencies.database, change));
  };
  return {
    flagMachine: (request, { caller }) =>
      flag({ ...request, flag: flagOf(request.flag), status: true, ...actingAs(caller) }),
    unflagMachine: (request, { caller }) =>
      flag({ ...request, flag: flagOf(request.flag), status: false, ...actingAs(caller) }),
    clearNeedsIntervention: (request, { caller }) =>
      flag({ ...request, flag: 'NeedsIntervention', status: false, ...actingAs(caller) }),

    async setServiceState(request, { caller }) {
      const machine = await setServiceState(dependencies.database, {
        machineId: checkMachineId(request.machineId),
        to: request.service,
        reason: requiredReason(request.reason),
        ...actingAs(caller),
        force: request.force,
      });
      return machineMessage(machine);
    },

    explainMachine: ({ machineId }, { caller }) =>
      explanation(dependencies, checkMachineId(machineId), caller),
  };
}

async function explanation(
  dependencies: ServerDependencies,
  machineId: string,
  { scope }: Caller,
): Promise<MessageInitShape<typeof ExplanationSchema>> {
  const machine = await dependencies.machines.find(machineId, scope);
  if (!machine) throw machineNotFound(machineId);
  const operation = await lastOperationOf(dependencies.database, machineId);
  const node = machine.install === null ? null : await findNode(dependencies.database, machineId);
  const reads = await readUpstreamReads(dependencies.database, [machine.observed?.source ?? '']);
  const upstream = upstreamView(machine, reads.get(machine.observed?.source ?? ''));
  const { inService, summary, obstacles } = explain({
    machine,
    operation,
    node: node && { state: node.state, lastError: node.installRecord.lastError },
    serviceMover: await lastServiceChange(dependencies.database, machineId),
    upstream,
    now: dependencies.now(),
  });
  const rollout = await openRolloutOf(dependencies.database, machineId, scope);
  const agents = await agentsOf(dependencies, [machine]);
  const stalls = await dependencies.stalls.read(scope);
  const { text: headline, tone: headlineTone } = machineHeadline(machine, dependencies.now(), {
    lastKeepaliveAt: agents.get(machineId)?.vitals.lastKeepaliveAt ?? null,
    isStalled: machine.activeOperationId !== null && stalls.has(machine.activeOperationId),
  });
  return {
    ...{ inService, summary, headline, headlineTone },
    obstacles: [...obstacles],
    ...availabilityFields(machine),
    rolloutId: rollout?.rolloutId ?? '',
    rolloutMessage: rolloutSentence(rollout),
    ...(upstream && { upstream: upstreamMessage(upstream) }),
  };
}

function flagOf(value: MachineFlag_Value): AdminFlag {
  if (value === MachineFlag_Value.RMA) return 'RMA';
  if (value === MachineFlag_Value.RETIRED) return 'Retired';
  throw invalidField('flag', 'must be RMA or RETIRED');
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
