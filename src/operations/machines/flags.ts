/** Conditions that an admin sets and clears. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Actor } from '../../domain/actor.ts';
import { type ConditionType, isTrue } from '../../domain/condition/condition.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange } from '../../domain/machine/machine-change.ts';
import type { Database } from '../../store/database/database.ts';
import { changeMachine } from '../../store/machines/machines.ts';
import { machineNotFound } from './machine-not-found.ts';

export type AdminFlag = Extract<ConditionType, 'RMA' | 'Retired' | 'NeedsIntervention'>;

export interface FlagCall {
  readonly machineId: string;
  readonly flag: AdminFlag;
  readonly status: boolean;
  readonly reason: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
}

/** A flag that has the status already does not change, and keeps the time of its last transition. */
export async function setFlag(database: Database, call: FlagCall): Promise<Machine> {
  const { flag, status, actor } = call;
  const machine = await changeMachine(database, call, (before) => {
    if (isTrue(before.conditions, flag) === status) return { machine: before, events: [] };
    if (flag === 'Retired' && !status && before.install === 'retired') throw retiredForGood(before);
    const condition = {
      type: flag,
      status,
      reason: status ? 'SetByAdmin' : 'ClearedByAdmin',
      message: call.reason,
    };
    return applyChange(before, { conditions: [condition] }, { at: new Date(), actor, operationId: null });
  });
  if (!machine) throw machineNotFound(call.machineId);
  return machine;
}

/** The flag of a retired node follows from its install state, which is final. */
function retiredForGood({ machineId }: Machine): Fault {
  return new Fault('NODE_RETIRED', {
    message: `${machineId} was retired as a node, and that is final: the flag stays. Register the hardware as another machine, with an address that ${machineId} does not have`,
    metadata: { machine_id: machineId },
    violations: [{ subject: `machines/${machineId}`, description: 'was retired for good' }],
  });
}
