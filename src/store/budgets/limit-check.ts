/**
 * Decides whether starts break a budget or a limit, inside the transaction of the starts.
 *
 * Starts that may take machines of one group out of service take the same lock, until they have committed: an advisory lock
 * for the field and the value of the group, whichever limit asks for it. Machines are locked before, and all locks of one
 * transaction are taken in one order, so none deadlock. The count is read after the locks are held, in a statement of its own:
 * it sees every start that committed before. What ends meanwhile only leaves more room. Starts of one batch count each other.
 *
 * Everyone obeys budgets, so everyone takes their locks. A limit of a rollout binds that rollout alone, and others do not
 * lock its groups: what they take out of service between the count and the commit is found by `isPassed`, which counts once
 * more while no one else can commit (the event lock, store/events/append-events.ts). Then the transaction is run again.
 */
import { createHash } from 'node:crypto';
import type { Scope } from '../../domain/access/scope.ts';
import { hasTerms } from '../../domain/access/scope.ts';
import { budgetExceeded, type FullGroup, type Occupant } from '../../domain/budget/budget-exceeded.ts';
import { counts, groupOf, type Limit } from '../../domain/budget/limit.ts';
import type { Fault } from '../../domain/error/fault.ts';
import { availability } from '../../domain/machine/availability.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { allowedOf } from '../../domain/rollout/spec/amount.ts';
import type { Session } from '../database/database.ts';
import { takeEventTurn } from '../events/append-events.ts';
import type { SqlValue } from '../filter/to-sql.ts';
import { IN_SERVICE_CONDITION, UNAVAILABLE_COLUMN } from '../machines/availability-column.ts';
import { type GroupUse, groupSql } from './group-sql.ts';
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
  readonly #stored = new Map<string, GroupUse | undefined>();

  private constructor(session: Session, uses: Uses) {
    this.#session = session;
    this.#uses = uses;
  }

  /**
   * Locks and counts the groups of all candidates. Without a group no statement is sent. With the turn to write events taken
   * `early`, the count holds until the commit: the caller holds every other lock that it needs.
   */
  static async open(
    session: Session,
    candidates: readonly Candidate[],
    eventTurn: 'early' | 'late',
  ): Promise<LimitCheck> {
    const groups = groupsOf(candidates);
    if (groups.size === 0) return new LimitCheck(session, NOTHING);
    await lockGroups(session, groups);
    if (eventTurn === 'early') await takeEventTurn(session);
    return new LimitCheck(session, await countGroups(session, groups));
  }

  /** The first limit that is full for the machine; null: none is. */
  full(machine: Machine, limits: readonly Limit[], scope: Scope | null): OverLimit | null {
    for (const [limit, group, use] of this.#usesOf(machine, limits)) {
      if (use.unavailable < use.allowed) continue;
      const { unavailable, allowed, taken } = use;
      const full = { limit: named(limit, scope), group, unavailable, allowed, sees: 'all' as const };
      return new OverLimit({ machineId: machine.machineId, scope, full, taken: [...taken] });
    }
    return null;
  }

  /** Counts a machine that is taken out of service by an operation of this transaction, also where its start obeys no limit. */
  take(machine: Machine, occupant: Occupant): void {
    for (const [, , use] of this.#usesOf(machine, [...this.#uses.keys()])) {
      use.unavailable += 1;
      use.taken.push(occupant);
    }
  }

  /**
   * Whether a limit of a rollout is passed with what others committed since the count. Asked after everything was written, by a
   * transaction that has its turn to write events. What a limit allows is what it allowed at the count.
   */
  async isPassed(): Promise<boolean> {
    const used = this.#usedOfRollouts();
    if (used.size === 0) return false;
    const now = await countUnavailable(this.#session, used);
    return [...now].some(([limit, groups]) =>
      [...groups].some(([group, count]) => count > (this.#uses.get(limit)?.get(group)?.allowed ?? 0)),
    );
  }

  /** Whether `isPassed` has to be asked before the commit. */
  get isToBeRepeated(): boolean {
    return this.#usedOfRollouts().size > 0;
  }

  #usedOfRollouts(): Map<Limit, ReadonlySet<string>> {
    const used = new Map<Limit, ReadonlySet<string>>();
    for (const [limit, groups] of this.#uses) {
      const taken = [...groups].filter(([, { taken: own }]) => own.length > 0).map(([group]) => group);
      if (limit.kind === 'rollout' && taken.length > 0) used.set(limit, new Set(taken));
    }
    return used;
  }

  /** With the machines that occupy what is full. */
  async fault({ machineId, scope, full, taken }: OverLimit): Promise<Fault> {
    const stored = await this.#storedUse(full, scope);
    const occupants = [...(stored?.occupants ?? []), ...taken];
    if (scope === null) return budgetExceeded(machineId, full, occupants);
    const unavailable = (stored?.unavailable ?? 0) + taken.length;
    const allowed = stored?.allowed ?? 0;
    return budgetExceeded(machineId, { ...full, unavailable, allowed, sees: 'scope' }, occupants);
  }

  /** Read once for all refusals of a batch: the locks are held meanwhile. */
  async #storedUse({ limit, group }: FullGroup, scope: Scope | null): Promise<GroupUse | undefined> {
    const key = JSON.stringify([limit.name, limit.groupBy?.name, limit.members?.text, group, scope?.text]);
    const known = this.#stored.get(key);
    if (known || this.#stored.has(key)) return known;
    const [uses = []] = await unavailableByGroup(this.#session, [limit], {
      scope,
      maxOccupants: MAX_NAMED,
      groups: new Map([[limit, [group]]]),
    });
    const stored = uses.find((use) => use.group === group);
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

async function lockGroups(session: Session, groups: Groups): Promise<void> {
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

type Groups = ReadonlyMap<Limit, ReadonlySet<string>>;

async function countGroups(session: Session, groups: Groups): Promise<Map<Limit, Map<string, Use>>> {
  // How many there are matters for a percentage only.
  const rows = await countRows(session, groups, ({ maxUnavailable }) => 'percent' in maxUnavailable);
  return mapGroups(
    groups,
    (limit, row) => ({
      unavailable: row?.unavailable ?? 0,
      allowed: allowedOf(limit.maxUnavailable, row?.machines ?? 0),
      taken: [],
    }),
    rows,
  );
}

async function countUnavailable(session: Session, groups: Groups): Promise<Map<Limit, Map<string, number>>> {
  const rows = await countRows(session, groups, () => false);
  return mapGroups(groups, (_limit, row) => row?.unavailable ?? 0, rows);
}

interface CountRow extends Record<string, unknown> {
  readonly place: number;
  readonly grp: string;
  readonly unavailable: number;
  readonly machines: number;
}

async function countRows(
  session: Session,
  groups: Groups,
  countsMachines: (limit: Limit) => boolean,
): Promise<CountRow[]> {
  const values: SqlValue[] = [];
  const parts = [...groups].flatMap(([limit, names], place) => {
    const part = (which: string, unavailable: string, machines: string) => {
      const sql = groupSql(limit, [...names], values.length + 1);
      values.push(...sql.values);
      return `SELECT ${place} AS place, ${sql.group} AS grp, ${unavailable} AS unavailable, ${machines} AS machines
        FROM machines WHERE ${which} AND ${sql.condition} GROUP BY 2`;
    };
    const used = part(`${UNAVAILABLE_COLUMN} IS NOT NULL`, 'count(*)', '0');
    return countsMachines(limit) ? [used, part(IN_SERVICE_CONDITION, '0', 'count(*)')] : [used];
  });
  return session.run<CountRow>(
    '',
    `SELECT place, grp, sum(unavailable)::integer AS unavailable, sum(machines)::integer AS machines
     FROM (${parts.join(' UNION ALL ')}) AS counted GROUP BY 1, 2`,
    values,
  );
}

/** A group without a row has no machine that counts. */
function mapGroups<Value>(
  groups: Groups,
  toValue: (limit: Limit, row: CountRow | undefined) => Value,
  rows: readonly CountRow[],
): Map<Limit, Map<string, Value>> {
  const found = new Map(rows.map((row) => [JSON.stringify([row.place, row.grp]), row]));
  return new Map(
    [...groups].map(([limit, names], place) => [
      limit,
      new Map([...names].map((group) => [group, toValue(limit, found.get(JSON.stringify([place, group])))])),
    ]),
  );
}
