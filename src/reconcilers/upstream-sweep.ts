/**
 * Reads what an upstream such as MAAS reports of all its machines, in bulk and on a schedule, and records it. A node that
 * has drifted is quarantined, and a failed workflow whose result was reached all the same adopts the observed state. Every
 * change has a reason; a machine with an active operation is not touched.
 *
 * One replica at a time sweeps an upstream (store/machines/upstream-reads.ts). Pages bound what is in memory, and the probes of
 * single machines take what is recorded here, so that a fleet costs its MAAS no more than one sweep an interval.
 *
 * A machine that is not listed any more is judged at the end of the sweep, together with all others: where a large part
 * of the machines in use is gone at once (domain/condition/mass-absence.ts), the upstream is unhealthy and none of them is absent.
 */
import { randomUUID } from 'node:crypto';
import type { Actor } from '../domain/actor.ts';
import { changeByDrift, DRIFT_ACTOR, driftAtStage, type QuarantinedBy } from '../domain/condition/drift.ts';
import { type Absences, isInUse, massAbsence } from '../domain/condition/mass-absence.ts';
import { Fault } from '../domain/error/fault.ts';
import type { Machine, ObservedState } from '../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../domain/machine/machine-change.ts';
import { StepFailure } from '../engine/step-handler.ts';
import {
  type ActionCall,
  type ActionDependencies,
  actOnOperation,
} from '../operations/act/act-on-operation.ts';
import type { Upstream, UpstreamMachine } from '../providers/upstream.ts';
import type { Database } from '../store/database/database.ts';
import { changeMachine, findMachines } from '../store/machines/machines.ts';
import { lastServiceChange, machinesUpstream, type UpstreamKey } from '../store/machines/service-machines.ts';
import {
  claimSweep,
  endSweep,
  renewSweep,
  type SweepClaim,
  type SweepEnd,
} from '../store/machines/upstream-reads.ts';
import { lastOperationOf } from '../store/operations/find-operations.ts';

export interface UpstreamSweepOptions {
  readonly database: Database;
  readonly provider: string;
  readonly upstream: Upstream;
  readonly actions: ActionDependencies;
  readonly intervalMs: number;
  /** Machines that the upstream describes in an unknown format. */
  readonly onUnread: (provider: string, machineIds: readonly string[]) => void;
}

const DRIFT: Actor = { kind: 'system', id: DRIFT_ACTOR };
/** One page is usually one request. */
const PAGE = 100;
/** Longer than a page takes. */
const HOLD_MS = 120_000;

/** What a sweep has found so far. */
interface Findings {
  readonly unread: string[];
  /** The machines that are in use and listed. */
  listed: number;
  /** Those that are not listed any more, by id, with when they were changed last. */
  readonly missing: Map<string, { readonly updatedAt: number; readonly isInUse: boolean }>;
}

export class UpstreamSweep {
  readonly #options: UpstreamSweepOptions;

  constructor(options: UpstreamSweepOptions) {
    this.#options = options;
  }

  /** Idle: it is not due, another replica has it, or the last one failed and the next is not due yet. */
  async pass(signal: AbortSignal): Promise<'idle' | 'passed'> {
    const { database, provider, intervalMs, onUnread } = this.#options;
    const claim = { provider, holder: randomUUID() };
    const result = await claimSweep(database, claim, { intervalMs, holdMs: HOLD_MS });
    if (!result.claimed) return result.failure === '' ? 'passed' : 'idle';
    let ending: SweepEnd = { end: 'stopped' };
    try {
      const unread = await this.#sweep(claim, signal);
      if (unread === null) return 'idle';
      ending = { end: 'complete', unread };
      if (unread.length > 0) onUnread(provider, unread);
      return 'passed';
    } catch (error) {
      if (!signal.aborted) ending = { end: 'failed', failure: messageOf(error) };
      throw error;
    } finally {
      await endSweep(database, claim, ending);
    }
  }

  /** The machines that could not be read; null: it was stopped, or another replica has it by now. */
  async #sweep(claim: SweepClaim, signal: AbortSignal): Promise<string[] | null> {
    const { database, provider } = this.#options;
    const findings: Findings = { unread: [], listed: 0, missing: new Map() };
    for (const key of ['id', 'address'] as const) {
      for (let after = ''; ; ) {
        const machines = await machinesUpstream(database, provider, { key, after, limit: PAGE });
        const last = machines.at(-1);
        if (!last) break;
        after = last.machineId;
        if (signal.aborted || !(await renewSweep(database, claim, HOLD_MS))) return null;
        await this.#readPage(key, machines, { findings, signal });
        if (machines.length < PAGE) break;
      }
    }
    return (await this.#recordMissing(claim, findings)) ? findings.unread : null;
  }

  /** False: another replica has it by now. Throws where so many are gone that it is the upstream that is unhealthy. */
  async #recordMissing(claim: SweepClaim, { listed, missing }: Findings): Promise<boolean> {
    const { database, provider } = this.#options;
    const inUse = [...missing.values()].filter((machine) => machine.isInUse).length;
    const absences = { missing: inUse, inUse: listed + inUse };
    if (massAbsence(absences)) throw machinesMissing(provider, absences);
    const ids = [...missing.keys()];
    for (let from = 0; from < ids.length; from += PAGE) {
      if (!(await renewSweep(database, claim, HOLD_MS))) return false;
      for (const machine of await findMachines(database, ids.slice(from, from + PAGE), null)) {
        const isCurrent = missing.get(machine.machineId)?.updatedAt === machine.updatedAt.getTime();
        if (isCurrent) await this.#record(machine, null);
      }
    }
    return true;
  }

  async #readPage(
    key: UpstreamKey,
    machines: readonly Machine[],
    { findings, signal }: { readonly findings: Findings; readonly signal: AbortSignal },
  ): Promise<void> {
    const { upstream } = this.#options;
    const keyOf = KEYS[key];
    const asked = machines.map(keyOf);
    const listing = await (key === 'id'
      ? upstream.list({ signal }, asked)
      : upstream.listByAddress({ signal }, asked));
    const unreadable = new Set(listing.unread);
    for (const machine of machines) {
      const candidates = listing.machines.filter((seen) => ANSWERS[key](seen, keyOf(machine)));
      if (candidates.length === 0 && unreadable.has(keyOf(machine))) findings.unread.push(machine.machineId);
      else if (key === 'id') await this.#take(machine, candidates[0] ?? null, findings);
      else if (candidates.length < 2) await this.#note(machine, candidates[0] ?? null);
    }
  }

  async #take(machine: Machine, seen: UpstreamMachine | null, findings: Findings): Promise<void> {
    const isUsed = isInUse(machine);
    if (seen === null && machine.observed?.state !== 'absent') {
      findings.missing.set(machine.machineId, {
        updatedAt: machine.updatedAt.getTime(),
        isInUse: isUsed,
      });
      return;
    }
    if (seen !== null && isUsed) findings.listed += 1;
    await this.#record(machine, seen);
  }

  /** A machine that is not in use upstream: what the upstream reports is recorded, and nothing follows from it. */
  async #note(before: Machine, seen: UpstreamMachine | null): Promise<void> {
    if (seen === null && before.observed === null) return;
    const observed = this.#observed(before, seen);
    if (isChanged(before, observed)) await this.#change(before, { observed });
  }

  async #record(before: Machine, seen: UpstreamMachine | null): Promise<void> {
    const observed = this.#observed(before, seen);
    const { state } = observed;
    const by = await this.#quarantinedBy(before);
    if (!isChanged(before, observed) && Object.keys(changeByDrift(before, state, by)).length === 0) {
      await this.#realign(before, state, by);
      return;
    }
    const machine = await this.#change(before, { observed, ...changeByDrift(before, state, by) });
    if (machine) await this.#realign(machine, state, by);
  }

  /** Null: it was changed since it was read, and what was seen may be older than that. The next sweep sees it again. */
  async #change(before: Machine, change: MachineChange): Promise<Machine | null> {
    let isCurrent = true;
    const machine = await changeMachine(this.#options.database, { ...before, scope: null }, (now) => {
      isCurrent = now.updatedAt.getTime() === before.updatedAt.getTime();
      if (!isCurrent) return { machine: now, events: [] };
      return applyChange(now, change, { at: new Date(), actor: DRIFT, operationId: null });
    });
    return isCurrent ? machine : null;
  }

  #observed({ observed: before }: Machine, seen: UpstreamMachine | null): ObservedState {
    const state = seen?.status ?? 'absent';
    const isSame = before?.state === state;
    return {
      source: this.#options.provider,
      state,
      power: seen?.power ?? 'unknown',
      upstreamId: before?.upstreamId ?? '',
      at: isSame ? before.at : new Date().toISOString(),
      ...(isSame && before.accepted && { accepted: before.accepted }),
    };
  }

  /** What an operator quarantined, only an operator releases. */
  async #quarantinedBy({ machineId, service }: Machine): Promise<QuarantinedBy> {
    if (service !== 'quarantined') return null;
    const mover = await lastServiceChange(this.#options.database, machineId);
    return mover?.actorId === DRIFT_ACTOR || mover?.type === 'ONBOARD' ? 'system' : 'operator';
  }

  /**
   * A failed onboarding whose result was reached all the same is adopted, if its own stages agree; one whose machine is in
   * another state can't be retried before an operator has acted.
   */
  async #realign(machine: Machine, state: string, quarantinedBy: QuarantinedBy): Promise<void> {
    const { service, presence, activeOperationId, machineId } = machine;
    if (activeOperationId !== null || !(service === 'enrolling' || quarantinedBy === 'system')) return;
    const operation = await lastOperationOf(this.#options.database, machineId);
    if (operation?.type !== 'ONBOARD' || !operation.status.startsWith('failed')) return;
    const { operationId, status, error } = operation;
    if (state === 'Deployed' && presence === 'ready') {
      // Tried once: where there was nothing to adopt, an operator acts. What an operator holds, only an operator releases.
      if (error?.code === 'NOTHING_TO_ADOPT' || error?.code === 'HELD') return;
      const reason = 'the upstream says Deployed, and the agent is ready';
      await this.#act({ operationId, action: 'adopt_observed_state', reason });
      return;
    }
    const reason = driftAtStage(error?.step ?? '', state);
    if (reason === null || status !== 'failed_retryable') return;
    const action = 'mark_manual_intervention_required';
    await this.#act({ operationId, action, reason, heldAs: 'UPSTREAM_DRIFTED' });
  }

  async #act(call: Omit<ActionCall, 'actor' | 'scope'>): Promise<void> {
    await actOnOperation(this.#options.actions, { ...call, actor: DRIFT, scope: null });
  }
}

/** By its first address: a query for all of them would need many requests instead of one. */
const KEYS = {
  id: ({ observed }) => observed?.upstreamId ?? '',
  address: ({ spec }) => spec.mac_addresses[0]?.toLowerCase() ?? '',
} as const satisfies Record<UpstreamKey, (machine: Machine) => string>;

const ANSWERS = {
  id: ({ id }, key) => id === key,
  address: ({ macAddresses }, key) => macAddresses.includes(key),
} as const satisfies Record<UpstreamKey, (seen: UpstreamMachine, key: string) => boolean>;

function isChanged({ observed: before }: Machine, { state, power }: ObservedState): boolean {
  return before?.state !== state || before.power !== power;
}

/** Only messages that were written for operators are stored. */
function messageOf(error: unknown): string {
  if (error instanceof Fault)
    return `${error.message} (${error.metadata.missing} of ${error.metadata.in_use})`;
  return error instanceof StepFailure ? error.failure.message : 'an unexpected error, see the server log';
}

/** Its message is also shown by /readyz, which anyone may read: it holds no names and no values. */
function machinesMissing(provider: string, { missing, inUse }: Absences): Fault {
  return new Fault('UPSTREAM_MACHINES_MISSING', {
    message:
      'too many machines in use are no longer listed at once; none counts as absent until they are listed again or taken out of use',
    metadata: { provider, missing: String(missing), in_use: String(inUse) },
  });
}
