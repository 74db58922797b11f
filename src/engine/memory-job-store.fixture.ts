/**
 * The JobStore port in memory, with the same fence: every write names an epoch and an owner and changes nothing
 * when the row has others. Its clock is passed in. A killed owner is a process that died: nothing of what it
 * asks for happens any more.
 */
import { isActive } from '../domain/operation/operation-status.ts';
import { deadlineOf } from '../domain/operation/step.ts';
import type { CancelRequest, Job, JobEvent, JobMove } from './job.ts';
import type {
  Claim,
  Claimed,
  ClaimResult,
  DeathCount,
  JobStore,
  LeaseRef,
  LogLine,
  LogTail,
  RecordResult,
  ReleasedLease,
} from './job-store.ts';

export class ProcessDeath extends Error {
  override readonly name = 'ProcessDeath';
}

interface Row {
  readonly job: Job;
  readonly owner: string | null;
  readonly dueAt: number;
}

function deathOf(before: string | null, owner: string, deaths: DeathCount): number {
  return before === null || before === owner || deaths === 'not_counted' ? 0 : 1;
}

export type StoreCall = 'claim' | 'renew' | 'record' | 'appendLog' | 'release';

export class MemoryJobStore<Change> implements JobStore<Change> {
  readonly events: JobEvent[] = [];
  readonly changes: Change[] = [];
  readonly lines: LogLine[] = [];
  readonly tails: LogTail[] = [];
  /** What was written, in order: 'log: text' and 'status step step …'. */
  readonly writes: string[] = [];
  /** Called before a call takes effect; may throw, or wait. */
  before: (call: StoreCall, owner: string) => void | Promise<void> = () => {};
  /** Called when a call has taken effect, before its answer arrives. */
  after: (call: StoreCall, owner: string) => void | Promise<void> = () => {};
  readonly #now: () => number;
  readonly #rows = new Map<string, Row>();
  readonly #dead = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(job: Job): void {
    this.#rows.set(job.id, { job, owner: null, dueAt: this.#now() });
  }

  /** As a start writes it that claims what it creates. */
  addHeld(job: Job, { owner, leaseMs }: { readonly owner: string; readonly leaseMs: number }): void {
    this.#rows.set(job.id, { job, owner, dueAt: this.#now() + leaseMs });
  }

  job(id = 'job-1'): Job {
    return this.#row(id).job;
  }

  ownerOf(id = 'job-1'): string | null {
    return this.#row(id).owner;
  }

  dueInMs(id = 'job-1'): number {
    return this.#row(id).dueAt - this.#now();
  }

  cancel(id: string, cancel: CancelRequest): void {
    const { job, owner, dueAt } = this.#row(id);
    const due = owner === null ? this.#now() : dueAt;
    this.#rows.set(id, { job: { ...job, cancel, signals: job.signals + 1 }, owner, dueAt: due });
  }

  /** What the job waits for may have come. */
  signal(id = 'job-1'): void {
    const { job, owner, dueAt } = this.#row(id);
    const due = owner === null ? this.#now() : dueAt;
    this.#rows.set(id, { job: { ...job, signals: job.signals + 1 }, owner, dueAt: due });
  }

  kill(owner: string): void {
    this.#dead.add(owner);
  }

  claim(claim: Claim<Change>): Promise<ClaimResult> {
    const { owner, limit, deaths } = claim;
    return this.#call('claim', owner, () => {
      const now = this.#now();
      const active = [...this.#rows.values()].filter(({ job }) => isActive(job.status));
      const due = active.filter(({ dueAt }) => dueAt <= now).sort((a, b) => a.dueAt - b.dueAt);
      const jobs = due.slice(0, limit).map(({ job, owner: before }) => {
        const claimed = { ...job, epoch: job.epoch + 1, deaths: job.deaths + deathOf(before, owner, deaths) };
        return this.#hold(claim, claimed);
      });
      const others = active.filter(({ job }) => !jobs.some(({ id }) => id === job.id));
      const nextDueInMs = others.length === 0 ? null : Math.min(...others.map(({ dueAt }) => dueAt - now));
      return { jobs, nextDueInMs, now: new Date(now) };
    });
  }

  claimOverdue(claim: Claim<Change>): Promise<Claimed> {
    const { owner, limit, deaths } = claim;
    return this.#call('claim', owner, () => {
      const now = this.#now();
      const overdue = [...this.#rows.values()].filter(({ job, dueAt }) => {
        const step = job.steps[job.current];
        const deadline = step ? deadlineOf(step) : null;
        return isActive(job.status) && dueAt <= now && deadline !== null && deadline <= now;
      });
      const jobs = overdue.slice(0, limit).map(({ job, owner: before }) => {
        const claimed = { ...job, epoch: job.epoch + 1, deaths: job.deaths + deathOf(before, owner, deaths) };
        return this.#hold(claim, claimed);
      });
      return { jobs, now: new Date(now) };
    });
  }

  #hold({ owner, leaseMs, start }: Claim<Change>, claimed: Job): Job {
    const now = this.#now();
    const started = start?.(claimed, new Date(now)) ?? null;
    if (started !== null) this.events.push(...started.events);
    const job = started?.job ?? claimed;
    this.#rows.set(job.id, { job, owner, dueAt: now + leaseMs });
    return job;
  }

  renew(owner: string, leases: readonly LeaseRef[], leaseMs: number): Promise<ReadonlySet<string>> {
    return this.#call('renew', owner, () => {
      const held = leases.filter((lease) => this.#holds(owner, lease));
      for (const { id } of held) this.#rows.set(id, { ...this.#row(id), dueAt: this.#now() + leaseMs });
      return new Set(held.map(({ id }) => id));
    });
  }

  record(owner: string, move: JobMove<Change>): Promise<RecordResult> {
    return this.#call('record', owner, () => {
      const { id, epoch, status } = move.job;
      if (!this.#holds(owner, { id, epoch })) return { recorded: false, cancel: null, signals: 0 };
      const { job: before, dueAt } = this.#row(id);
      const missed =
        before.signals !== move.job.signals || (before.cancel !== null && status !== 'compensating');
      const deaths = Math.min(before.deaths, move.job.deaths);
      const job = { ...move.job, deaths, cancel: before.cancel, signals: before.signals };
      const kept = move.releaseForMs === null;
      this.#rows.set(id, {
        job,
        owner: kept ? owner : null,
        dueAt: kept ? dueAt : this.#now() + (missed ? 0 : (move.releaseForMs ?? 0)),
      });
      this.events.push(...move.events);
      if (move.change !== null) this.changes.push(move.change);
      this.writes.push([status, ...job.steps.map(({ state }) => state)].join(' '));
      return { recorded: true, cancel: before.cancel, signals: before.signals };
    });
  }

  appendLog(lines: readonly LogLine[], tails: readonly LogTail[]): Promise<void> {
    return this.#call('appendLog', '', () => {
      this.tails.push(...tails);
      const held = lines.filter(({ id, epoch }) => this.#row(id).job.epoch === epoch);
      this.lines.push(...held);
      this.writes.push(...held.map(({ text }) => `log: ${text}`));
    });
  }

  release(owner: string, leases: readonly ReleasedLease[]): Promise<void> {
    return this.#call('release', owner, () => {
      for (const lease of leases) {
        const row = this.#row(lease.id);
        const { job } = row;
        if (this.#holds(owner, lease)) {
          const deaths = job.deaths + (lease.why === 'broken' ? 1 : 0);
          this.#rows.set(lease.id, { job: { ...job, deaths }, owner: null, dueAt: this.#now() });
        } else if (lease.why === 'cut_off' && job.epoch > lease.epoch && row.owner !== owner) {
          this.#rows.set(lease.id, { ...row, job: { ...job, deaths: Math.max(0, job.deaths - 1) } });
        }
      }
    });
  }

  releaseAllBut(owner: string, ids: readonly string[]): Promise<void> {
    return this.#call('release', owner, () => {
      for (const [id, row] of this.#rows) {
        if (row.owner !== owner || ids.includes(id) || !isActive(row.job.status)) continue;
        this.#rows.set(id, { ...row, owner: null, dueAt: this.#now() });
      }
    });
  }

  #holds(owner: string, { id, epoch }: LeaseRef): boolean {
    const row = this.#row(id);
    return row.owner === owner && row.job.epoch === epoch && isActive(row.job.status);
  }

  async #call<T>(call: StoreCall, owner: string, take: () => T): Promise<T> {
    this.#checkAlive(owner);
    await this.before(call, owner);
    this.#checkAlive(owner);
    const result = take();
    await this.after(call, owner);
    this.#checkAlive(owner);
    return result;
  }

  #checkAlive(owner: string): void {
    if (this.#dead.has(owner)) throw new ProcessDeath(`${owner} is dead`);
  }

  #row(id: string): Row {
    const row = this.#rows.get(id);
    if (!row) throw new RangeError(`there is no job ${id}`);
    return row;
  }
}
