/** The engine's port to the operations: claims, renewals, records and releases of holders (write-rules.ts has the rules). */
import type { MachineChange } from '../../../domain/machine/machine-change.ts';
import type { JobMove } from '../../../engine/job.ts';
import type {
  Claim,
  Claimed,
  ClaimResult,
  JobStore,
  LeaseRef,
  LogLine,
  LogTail,
  RecordResult,
  ReleasedLease,
} from '../../../engine/job-store.ts';
import type { DatabaseTime } from '../../clock/database-clock.ts';
import { Coalescer } from '../../database/coalescer.ts';
import type { Database, Session } from '../../database/database.ts';
import { DatabaseAway } from '../../database/database-away.ts';
import { appendEvents } from '../../events/append-events.ts';
import { lockMachines } from '../../machines/machine-rows.ts';
import { appendLog } from '../log/append-log.ts';
import { claimOperations, msToNextDue } from './claim-operations.ts';
import { changesMachine, recordMoves, recordOf, recordResults, writesMore } from './record-moves.ts';
import { releaseLeases } from './release-leases.ts';
import { releaseUnknownLeases } from './release-unknown-leases.ts';
import { renewLeases } from './renew-leases.ts';

type Move = JobMove<MachineChange>;

interface Recording {
  readonly owner: string;
  readonly move: Move;
}

export class PostgresOperationStore implements JobStore<MachineChange> {
  readonly #database: Database;
  readonly #clock: DatabaseTime;
  readonly #recordings: Coalescer<Recording, RecordResult>;

  constructor(database: Database, clock: DatabaseTime) {
    this.#database = database;
    this.#clock = clock;
    this.#recordings = new Coalescer({
      maxBatch: 500,
      maxUnderWay: 2,
      turnShare: () => database.turnShare.value,
      flush: (recordings) => this.#recordAll(recordings),
      isPoisoned: (error) => !(error instanceof DatabaseAway),
    });
  }

  async claim(claim: Claim<MachineChange>): Promise<ClaimResult> {
    const jobs = await claimOperations(this.#database, 'lock-due', claim, this.#clock);
    const now = this.#clock.now();
    if (jobs.length > 0) return { jobs, now, nextDueInMs: 0 };
    return { jobs, now, nextDueInMs: await msToNextDue(this.#database, this.#clock) };
  }

  async claimOverdue(claim: Claim<MachineChange>): Promise<Claimed> {
    const jobs = await claimOperations(this.#database, 'lock-overdue', claim, this.#clock);
    return { jobs, now: this.#clock.now() };
  }

  renew(owner: string, leases: readonly LeaseRef[], leaseMs: number): Promise<ReadonlySet<string>> {
    return renewLeases(this.#database, owner, leases, leaseMs);
  }

  async release(owner: string, leases: readonly ReleasedLease[]): Promise<void> {
    await this.#database.transaction(async (session) => {
      await releaseLeases(session, owner, leases);
      await appendEvents(session, [], ['due']);
    });
  }

  async releaseAllBut(owner: string, ids: readonly string[]): Promise<void> {
    await releaseUnknownLeases(this.#database, owner, ids);
  }

  record(owner: string, move: Move): Promise<RecordResult> {
    return this.#recordings.submit({ owner, move });
  }

  async appendLog(lines: readonly LogLine[], tails: readonly LogTail[]): Promise<void> {
    if (tails.length === 0) await appendLog(this.#database, lines, tails);
    else await this.#database.transaction((session) => appendLog(session, lines, tails));
  }

  async #recordAll(recordings: readonly Recording[]): Promise<RecordResult[]> {
    const owner = recordings[0]?.owner ?? '';
    const moves = recordings.map(({ move }) => move);
    const changed = moves.filter(changesMachine).map((move) => move.job.subject);
    const areIndependent = areDistinct(moves.map((move) => move.job.id)) && areDistinct(changed);
    if (areIndependent && changed.length === 0) return recordMoves(this.#database, owner, moves, new Map());
    return this.#database.transaction(async (session) => {
      const machines = await lockMachines(session, changed);
      if (!areIndependent) return recordOneByOne(session, owner, moves);
      if (moves.some(writesMore)) return recordMoves(session, owner, moves, machines);
      const [rows] = await session.finish([recordOf(owner, moves, machines)]);
      return recordResults(moves, rows);
    });
  }
}

/**
 * For two moves of one operation, which its former holder claimed again, or of two operations of one machine. One of them is
 * stale and must not affect what the other writes. The machines' locks are held.
 */
async function recordOneByOne(
  session: Session,
  owner: string,
  moves: readonly Move[],
): Promise<RecordResult[]> {
  const results = new Map<Move, RecordResult>();
  for (const move of moves.toSorted((left, right) => (left.job.id < right.job.id ? -1 : 1))) {
    const machines = await lockMachines(session, changesMachine(move) ? [move.job.subject] : []);
    for (const result of await recordMoves(session, owner, [move], machines)) results.set(move, result);
  }
  return moves.map((move) => results.get(move) ?? { recorded: false, cancel: null, signals: 0 });
}

function areDistinct(ids: readonly string[]): boolean {
  return new Set(ids).size === ids.length;
}
