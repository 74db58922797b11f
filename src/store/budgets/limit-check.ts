/**
 * Decides whether starts break a budget or a limit, inside the transaction of the starts.
 *
 * Starts that may take machines of one group out of service take the same lock, until they have committed: an advisory lock
 * for the field and the value of the group, whichever limit asks for it. Machines are locked before, and all locks of one
 * transaction are taken in one order, so none deadlock. The count is read after the locks are held, in a statement of its own:
 * it sees every start that committed before. What ends meanwhile only leaves more room. Starts of one batch count each other.
 */
import { createHash } from 'node:crypto';
import type { Scope } from '../../domain/access/scope.ts';
import { hasTerms } from '../../domain/access/scope.ts';
import { budgetExceeded, type FullGroup, type Occupant } from '../../domain/budget/budget-exceeded.ts';
import { counts, groupOf, type Limit } from '../../domain/budget/limit.ts';
import type { Fault } from '../../domain/error/fault.ts';
import { availability } from '../../domain/machine/availability.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { allowedOf } from '../../domain/rollout/amount.ts';
import type { Session } from '../database/database.ts';
import type { SqlValue } from '../filter/to-sql.ts';
import { IN_SERVICE_CONDITION, UNAVAILABLE_COLUMN } from '../machines/availability-column.ts';
import { groupSql } from './group-sql.ts';
import { unavailableByGroup } from './unavailable-by-group.ts';

/** A machine that a start may take out of service, and the limits that the start obeys. */
export interface Candidate {
  readonly machine: Machine;
  readonly limits: readonly Limit[];
}

/** A start that would break a limit. It becomes a fault when the occupants have been read. */
export class OverLimit {
  readonly machineId: string;
  readonly scope: Scope | null;
  readonly full: FullGroup;
  /** Machines that other starts of the same transaction take out of service. */
  readonly taken: readonly Occupant[];

  constructor(of: Pick<OverLimit, 'machineId' | 'scope' | 'full' | 'taken'>) {
    this.machineId = of.machineId;
    this.scope = of.scope;
    this.full = of.full;
    this.taken = of.taken;
  }
}

type Uses = ReadonlyMap<Limit, ReadonlyMap<string, Use>>;

interface Use {
  unavailable: number;
  readonly allowed: number;
  readonly taken: Occupant[];
}

const NOTHING: Uses = new Map();
const MAX_NAMED = 11;

export class LimitCheck {
  readonly #session: Session;
  readonly #uses: Uses;
  readonly #stored = new Map<string, readonly Occupant[]>();

  private constructor(session: Session, uses: Uses) {
    this.#session = session;
    this.#uses = uses;
  }

  /** Locks and counts the groups of all candidates. Without a group no statement is sent. */
  static async open(session: Session, candidates: readonly Candidate[]): Promise<LimitCheck> {
    const groups = groupsOf(candidates);
    if (groups.size === 0) return new LimitCheck(session, NOTHING);
    await lockGroups(session, groups);
    return new LimitCheck(session, await countGroups(session, groups));
  }

  /** The first limit that is full for the machine; null: none is. */
  full(machine: Machine, limits: readonly Limit[], scope: Scope | null): OverLimit | null {
    for (const [limit, group, use] of this.#usesOf(machine, limits)) {
      if (use.unavailable < use.allowed) continue;
      const { unavailable, allowed, taken } = use;
      const full = { limit: named(limit, scope), group, unavailable, allowed };
      return new OverLimit({ machineId: machine.machineId, scope, full, taken: [...taken] });
    }
    return null;
  }

  /** Counts a machine that is taken out of service by an operation of this transaction. */
  take(machine: Machine, limits: readonly Limit[], occupant: Occupant): void {
    for (const [, , use] of this.#usesOf(machine, limits)) {
      use.unavailable += 1;
      use.taken.push(occupant);
    }
  }

  /** With the machines that occupy what is full. */
  async fault({ machineId, scope, full, taken }: OverLimit): Promise<Fault> {
    return budgetExceeded(machineId, full, [...(await this.#occupants(full, scope)), ...taken]);
  }

  /** Read once for all refusals of a batch: the locks are held meanwhile. */
  async #occupants({ limit, group }: FullGroup, scope: Scope | null): Promise<readonly Occupant[]> {
    const key = JSON.stringify([limit.name, limit.groupBy?.name, limit.members?.text, group, scope?.text]);
    const known = this.#stored.get(key);
    if (known) return known;
    const [uses = []] = await unavailableByGroup(this.#session, [limit], {
      scope,
      maxOccupants: MAX_NAMED,
      groups: new Map([[limit, [group]]]),
    });
    const stored = uses.find((use) => use.group === group)?.occupants ?? [];
    this.#stored.set(key, stored);
    return stored;
  }

  *#usesOf(machine: Machine, limits: readonly Limit[]): Generator<[Limit, string, Use]> {
    for (const limit of limits) {
      const group = groupOf(limit.groupBy, machine);
      const use = counts(limit, machine) ? this.#uses.get(limit)?.get(group) : undefined;
      if (use) yield [limit, group, use];
    }
  }
}

/** A budget of a scope that the caller does not have is not named. */
function named(limit: Limit, scope: Scope | null): Limit {
  return hasTerms(scope, limit.scopeTerms) ? limit : { ...limit, name: 'of another scope' };
}

function groupsOf(candidates: readonly Candidate[]): Map<Limit, Set<string>> {
  const groups = new Map<Limit, Set<string>>();
  for (const { machine, limits } of candidates) {
    if (limits.length === 0 || availability(machine).available !== true) continue;
    for (const limit of limits) {
      if (!counts(limit, machine)) continue;
      const known = groups.get(limit) ?? new Set();
      groups.set(limit, known.add(groupOf(limit.groupBy, machine)));
    }
  }
  return groups;
}

async function lockGroups(session: Session, groups: ReadonlyMap<Limit, ReadonlySet<string>>): Promise<void> {
  const keys = new Set<bigint>();
  for (const [{ groupBy }, names] of groups)
    for (const name of names) keys.add(lockKey([groupBy?.attribute ?? '', groupBy?.label ?? '', name]));
  const sorted = [...keys].sort((one, other) => (one < other ? -1 : 1));
  await session.run(
    'lock-groups',
    'SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) WITH ORDINALITY AS k(key, n) ORDER BY n',
    [sorted.map(String)],
  );
}

/** 64 bits of a digest: two groups that share a key only wait for each other. */
function lockKey(parts: readonly string[]): bigint {
  const digest = createHash('sha256')
    .update(JSON.stringify(['ingot group', ...parts]))
    .digest();
  return digest.readBigInt64BE(0);
}

async function countGroups(
  session: Session,
  groups: ReadonlyMap<Limit, ReadonlySet<string>>,
): Promise<Map<Limit, Map<string, Use>>> {
  const limits = [...groups.keys()];
  const values: SqlValue[] = [];
  const parts = limits.flatMap((limit, place) => {
    const names = [...(groups.get(limit) ?? [])];
    const part = (which: string, unavailable: string, machines: string) => {
      const sql = groupSql(limit, names, values.length + 1);
      values.push(...sql.values);
      return `SELECT ${place} AS place, ${sql.group} AS grp, ${unavailable} AS unavailable, ${machines} AS machines
        FROM machines WHERE ${which} AND ${sql.condition} GROUP BY 2`;
    };
    const used = part(`${UNAVAILABLE_COLUMN} IS NOT NULL`, 'count(*)', '0');
    // How many there are matters for a percentage only.
    return 'percent' in limit.maxUnavailable ? [used, part(IN_SERVICE_CONDITION, '0', 'count(*)')] : [used];
  });
  const rows = await session.run<{ place: number; grp: string; unavailable: number; machines: number }>(
    '',
    `SELECT place, grp, sum(unavailable)::integer AS unavailable, sum(machines)::integer AS machines
     FROM (${parts.join(' UNION ALL ')}) AS counted GROUP BY 1, 2`,
    values,
  );
  const found = new Map(rows.map((row) => [JSON.stringify([row.place, row.grp]), row]));
  return new Map(
    limits.map((limit, place) => [
      limit,
      new Map(
        [...(groups.get(limit) ?? [])].map((group) => {
          const row = found.get(JSON.stringify([place, group]));
          const allowed = allowedOf(limit.maxUnavailable, row?.machines ?? 0);
          return [group, { unavailable: row?.unavailable ?? 0, allowed, taken: [] }];
        }),
      ),
    ]),
  );
}
