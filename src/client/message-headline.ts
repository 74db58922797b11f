/** The headline of a machine as the API sends it: for the command line and the console. */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Conditions, isConditionType } from '../domain/condition/condition.ts';
import type { EffectiveState } from '../domain/machine/effective-state.ts';
import { type Headline, headline } from '../domain/machine/headline.ts';
import type { Phase } from '../domain/machine/phase.ts';
import { EffectiveState_Value, type Machine, MachineStatus_Phase } from '../gen/baremetal/v2/machine_pb.ts';

export function messageHeadline({ status }: Machine, now: number): Headline {
  const { agent, maintenance, observed } = status ?? {};
  return headline(
    {
      effectiveState: EffectiveState_Value[
        status?.effectiveState ?? EffectiveState_Value.NEW
      ] as EffectiveState,
      phase: MachineStatus_Phase[status?.phase ?? MachineStatus_Phase.FACTORY_READY] as Phase,
      service: status?.service ?? '',
      install: status?.install ?? '',
      presence: status?.presence ?? '',
      conditions: conditionsOf(status?.conditions ?? []),
      activeOperationType: status?.activeOperationType || (status?.activeOperationId ? 'operation' : ''),
      isStalled: status?.stalled !== undefined,
      lastKeepaliveMs: agent?.lastKeepalive ? timestampMs(agent.lastKeepalive) : null,
      maintenanceUntilMs: maintenance?.until ? timestampMs(maintenance.until) : null,
      upstream: observed
        ? { source: observed.source, state: observed.state, differs: observed.differs }
        : null,
    },
    now,
  );
}

type ConditionMessages = NonNullable<Machine['status']>['conditions'];

/** Those that this version knows. */
function conditionsOf(messages: ConditionMessages): Conditions {
  return Object.fromEntries(
    messages.flatMap(({ type, status, reason, message, lastTransition }) =>
      isConditionType(type)
        ? [
            [
              type,
              {
                ...{ status, reason, message },
                lastTransition: new Date(lastTransition ? timestampMs(lastTransition) : 0).toISOString(),
              },
            ] as const,
          ]
        : [],
    ),
  );
}
