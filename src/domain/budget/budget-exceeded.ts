/** The refusal of a start that would break a budget or a limit: what is full, and which machines occupy it. */
import { Fault } from '../error/fault.ts';
import { UNAVAILABLE, type UnavailableReason } from '../machine/availability.ts';
import type { OperationType } from '../operation/operation-type.ts';
import { groupText, type Limit } from './limit.ts';

/** An unavailable machine that counts. */
export interface Occupant {
  readonly machineId: string;
  readonly reason: UnavailableReason;
  readonly operationId: string | null;
  readonly operationType: OperationType | null;
}

export interface FullGroup {
  readonly limit: Limit;
  readonly group: string;
  /** Of the machines that the caller may see, as `allowed`. */
  readonly unavailable: number;
  readonly allowed: number;
  /** Whether there may be others, which count and are neither named nor counted here. */
  readonly sees: 'all' | 'scope';
}

const MAX_NAMED = 10;

/** `occupants` are those that the caller may see. */
export function budgetExceeded(
  machineId: string,
  { limit, group, unavailable, allowed, sees }: FullGroup,
  occupants: readonly Occupant[],
): Fault {
  const where = groupText(limit, group);
  const called = limit.kind === 'budget' ? `budget ${limit.name}` : limit.name;
  const machines = unavailable === 1 ? 'machine' : 'machines';
  const named = occupiedText(occupants, unavailable);
  const others = sees === 'all' ? '' : ' of your scope';
  const alsoOthers = sees === 'all' ? '' : '; machines outside of it count, too';
  return new Fault('BUDGET_EXCEEDED', {
    message: `${machineId} can't be taken out of service: ${called} allows ${allowed} unavailable${where && ` in ${where}`}, and ${unavailable} ${machines}${others} ${unavailable === 1 ? 'is' : 'are'}${named && `: ${named}`}${alsoOthers}`,
    metadata: {
      machine_id: machineId,
      budget: limit.name,
      group_by: limit.groupBy?.name ?? '',
      group,
      limit: String(allowed),
      unavailable: String(unavailable),
      occupied_by: occupants
        .slice(0, MAX_NAMED)
        .map((occupant) => occupant.machineId)
        .join(','),
    },
    violations: [
      {
        subject: `budgets/${limit.name}`,
        description: `${where || 'the fleet'} has ${unavailable} of at most ${allowed} unavailable${others}${alsoOthers}`,
      },
    ],
  });
}

function occupiedText(occupants: readonly Occupant[], unavailable: number): string {
  const named = occupants.slice(0, MAX_NAMED).map(occupantText);
  const others = unavailable - named.length;
  if (others > 0 && named.length > 0) named.push(`and ${others} more`);
  return named.join(', ');
}

/** "m-1 (REBOOT op-7)", "m-2 (maintenance)". */
function occupantText({ machineId, reason, operationId, operationType }: Occupant): string {
  const state = 'operation' in UNAVAILABLE[reason].test ? '' : reason;
  const work = operationId === null ? '' : `${operationType} ${operationId}`;
  return `${machineId} (${[state, work].filter((part) => part !== '').join(', ')})`;
}
