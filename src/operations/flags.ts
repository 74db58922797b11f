/** What only an admin may do to a machine's conditions. */
import type { Actor } from '../domain/actor.ts';
import { type ConditionType, isTrue } from '../domain/condition.ts';
import type { Machine } from '../domain/machine.ts';
import { applyChange } from '../domain/machine-change.ts';
import type { Database } from '../store/database.ts';
import { changeMachine } from '../store/machines.ts';
import { machineNotFound } from './start-operation.ts';

export type AdminFlag = Extract<ConditionType, 'RMA' | 'Retired' | 'NeedsIntervention'>;

export interface FlagCall {
  readonly machineId: string;
  readonly flag: AdminFlag;
  readonly status: boolean;
  readonly reason: string;
  readonly actor: Actor;
}

/** Setting what is set already changes nothing, and says so by its unchanged time. */
export async function setFlag(database: Database, call: FlagCall): Promise<Machine> {
  const { flag, status, actor } = call;
  const machine = await changeMachine(database, call.machineId, (before) => {
    if (isTrue(before.conditions, flag) === status) return { machine: before, events: [] };
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
