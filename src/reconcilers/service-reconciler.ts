/**
 * Keeps the service layer true: a node whose agent speaks again is back in service, and what an upstream such as MAAS
 * says of machines is recorded on a schedule, a node that has drifted is quarantined, and a workflow that failed
 * although the world went on without it is offered what is observed. Every change says why; nothing is touched while an
 * operation works on it.
 */
import type { Actor } from '../domain/actor.ts';
import { staysOut } from '../domain/condition.ts';
import { changeByDrift, DRIFT_ACTOR, driftAtStage } from '../domain/drift.ts';
import type { Machine } from '../domain/machine.ts';
import { applyChange } from '../domain/machine-change.ts';
import { BackgroundLoop, type LoopWatch } from '../engine/background-loop.ts';
import { type ActionCall, type ActionTools, takeAction } from '../operations/operator-actions.ts';
import type { MaasControl, MaasMachine } from '../providers/maas/maas-control.ts';
import type { Provider } from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import { changeMachine } from '../store/machines.ts';
import { lastOperationOf } from '../store/operations.ts';
import {
  lastServiceMover,
  machinesHalfCleaned,
  machinesThatAreBack,
  machinesUpstream,
} from '../store/service-machines.ts';

export interface ServiceReconcilerOptions {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly actions: ActionTools;
  /** How often each machine's upstream is asked. */
  readonly intervalMs: number;
  readonly watch: LoopWatch;
  /** Of the loops that read other systems. */
  readonly upstreamWatch: LoopWatch;
}

const HEARTBEAT: Actor = { kind: 'system', id: 'heartbeat' };
const DRIFT: Actor = { kind: 'system', id: DRIFT_ACTOR };
const CLEANUP: Actor = { kind: 'system', id: 'cleanup' };
/** As contract.ts names it. */
const HALF_CLEANED = ['DecommissionFailed'] as const;
const TICK_MS = 1_000;
const BATCH = 500;
const PAGE = 200;

export class ServiceReconciler {
  readonly #options: ServiceReconcilerOptions;
  readonly #loops: readonly BackgroundLoop[];

  constructor(options: ServiceReconcilerOptions) {
    this.#options = options;
    const { providers, intervalMs: everyMs, watch, upstreamWatch } = options;
    const upstreams = [...providers.values()].flatMap(({ name, capabilities: { maas } }) => {
      if (!maas) return [];
      const pass = (stopping: AbortSignal) => this.#readUpstream(name, maas, stopping);
      // Each upstream has a loop of its own: one that is slow or away holds up no other's machines.
      const during = `reading the machines of ${name}`;
      return [
        new BackgroundLoop({ name: during, everyMs, pass, watch: upstreamWatch, retry: 'at_interval' }),
      ];
    });
    const bringBack = { name: 'bringing nodes back', everyMs: TICK_MS, pass: () => this.#bringBack(), watch };
    this.#loops = [new BackgroundLoop(bringBack), ...upstreams];
  }

  start(): void {
    for (const loop of this.#loops) loop.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  async #bringBack(): Promise<void> {
    const { database } = this.#options;
    await this.#quarantineHalfCleaned();
    for (const machineId of await machinesThatAreBack(database, BATCH)) {
      await changeMachine(database, machineId, (machine) => {
        const isBack =
          machine.service === 'offline' && machine.presence === 'ready' && !staysOut(machine.conditions);
        if (!isBack || machine.activeOperationId !== null) return { machine, events: [] };
        const comment = 'its agent speaks';
        const change = { service: { to: 'active', owner: 'heartbeat', comment } } as const;
        return applyChange(machine, change, { at: new Date(), actor: HEARTBEAT, operationId: null });
      });
    }
  }

  /** A failed cleanup keeps a node out of scheduling until somebody has looked. */
  async #quarantineHalfCleaned(): Promise<void> {
    const { database } = this.#options;
    for (const machineId of await machinesHalfCleaned(database, HALF_CLEANED, BATCH)) {
      await changeMachine(database, machineId, (machine) => {
        if (machine.service !== 'offline' || machine.activeOperationId !== null)
          return { machine, events: [] };
        const comment = machine.conditions.NeedsIntervention?.message ?? '';
        const change = { service: { to: 'quarantined', owner: 'reconciler', comment } } as const;
        return applyChange(machine, change, { at: new Date(), actor: CLEANUP, operationId: null });
      });
    }
  }

  async #readUpstream(provider: string, maas: MaasControl, signal: AbortSignal): Promise<void> {
    const { database } = this.#options;
    let after = '';
    for (;;) {
      const machines = await machinesUpstream(database, provider, after, PAGE);
      if (machines.length === 0 || signal.aborted) return;
      after = machines.at(-1)?.machineId ?? '';
      const ids = machines.map(({ observed }) => observed?.upstreamId ?? '');
      const found = await maas.list({ signal }, ids);
      const byId = new Map(found.map((seen) => [seen.systemId, seen]));
      for (const machine of machines) {
        await this.#record(provider, machine, byId.get(machine.observed?.upstreamId ?? '') ?? null);
      }
    }
  }

  async #record(provider: string, before: Machine, seen: MaasMachine | null): Promise<void> {
    const { database } = this.#options;
    const state = seen?.status ?? 'absent';
    const power = seen?.power ?? 'unknown';
    const byUs = before.service === 'quarantined' && (await this.#isQuarantinedByUs(before.machineId));
    const isNews = before.observed?.state !== state || before.observed?.power !== power;
    if (!isNews && Object.keys(changeByDrift(before, state, byUs)).length === 0) {
      await this.#realign(before, state, byUs);
      return;
    }
    const at = new Date();
    const upstreamId = before.observed?.upstreamId ?? '';
    const observed = { source: provider, state, power, upstreamId, at: at.toISOString() };
    const machine = await changeMachine(database, before.machineId, (now) =>
      applyChange(
        now,
        { observed, ...changeByDrift(now, state, byUs) },
        { at, actor: DRIFT, operationId: null },
      ),
    );
    if (machine) await this.#realign(machine, state, byUs);
  }

  /** What a person quarantined, a person lets go. */
  async #isQuarantinedByUs(machineId: string): Promise<boolean> {
    const mover = await lastServiceMover(this.#options.database, machineId);
    return mover?.actorId === DRIFT_ACTOR || mover?.type === 'ONBOARD';
  }

  /**
   * An onboarding that failed: one that came true all the same is adopted, if its own stages agree; one whose machine
   * has gone another way can't be tried again before somebody has looked.
   */
  async #realign(machine: Machine, state: string, byUs: boolean): Promise<void> {
    const { service, presence, activeOperationId, machineId } = machine;
    if (activeOperationId !== null || !(service === 'enrolling' || byUs)) return;
    const operation = await lastOperationOf(this.#options.database, machineId);
    if (operation?.type !== 'ONBOARD' || !operation.status.startsWith('failed')) return;
    const { operationId, status, error } = operation;
    if (state === 'Deployed' && presence === 'ready') {
      // Asked once: where there was nothing to adopt, a human looks. What a human holds, he alone lets go.
      if (error?.code === 'NOTHING_TO_ADOPT' || error?.code === 'HELD') return;
      const reason = 'the upstream says Deployed, and the agent speaks';
      await this.#act({ operationId, action: 'adopt_observed_state', reason });
      return;
    }
    const reason = driftAtStage(error?.step ?? '', state);
    if (reason === null || status !== 'failed_retryable') return;
    const action = 'mark_manual_intervention_required';
    await this.#act({ operationId, action, reason, heldAs: 'UPSTREAM_DRIFTED' });
  }

  async #act(call: Omit<ActionCall, 'actor'>): Promise<void> {
    await takeAction(this.#options.actions, { ...call, actor: DRIFT });
  }
}
