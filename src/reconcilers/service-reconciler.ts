/**
 * Keeps the service state current: a node whose agent responds again returns to service, and what upstreams report of their
 * machines is recorded and acted on (upstream-sweep.ts). Every change has a reason; a machine with an active operation is
 * not touched.
 */
import type { Actor } from '../domain/actor.ts';
import { isTrue, staysOutOfService } from '../domain/condition/condition.ts';
import { changeByDrift, DRIFT_ACTOR } from '../domain/condition/drift.ts';
import { applyChange } from '../domain/machine/machine-change.ts';
import type { ActionDependencies } from '../operations/act/act-on-operation.ts';
import type { Provider } from '../providers/provider.ts';
import type { Database } from '../store/database/database.ts';
import { changeMachine } from '../store/machines/machines.ts';
import {
  offlineMachinesWithReadyAgent,
  recoveredQuarantinedMachines,
} from '../store/machines/service-machines.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';
import { UpstreamSweep, type UpstreamSweepOptions } from './upstream-sweep.ts';

export interface ServiceReconcilerOptions {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly actions: ActionDependencies;
  /** How often each machine's upstream is asked. */
  readonly intervalMs: number;
  readonly watch: LoopWatch;
  /** For the loops that read other systems. */
  readonly upstreamWatch: LoopWatch;
  readonly onUnread: UpstreamSweepOptions['onUnread'];
}

const DRIFT: Actor = { kind: 'system', id: DRIFT_ACTOR };
const HEARTBEAT: Actor = { kind: 'system', id: 'heartbeat' };
const TICK_MS = 1_000;
const BATCH = 500;

export class ServiceReconciler {
  readonly #options: ServiceReconcilerOptions;
  readonly #loops: readonly BackgroundLoop[];

  constructor(options: ServiceReconcilerOptions) {
    this.#options = options;
    const { providers, intervalMs, watch, upstreamWatch } = options;
    // More often than a sweep is due, so that another replica takes over soon from one that is gone.
    const everyMs = Math.min(TICK_MS, intervalMs);
    const upstreams = [...providers.values()].flatMap(({ name, capabilities: { upstream } }) => {
      if (!upstream) return [];
      const sweep = new UpstreamSweep({ ...options, provider: name, upstream });
      // Each upstream has its own loop: a slow or unreachable one does not delay the machines of the others.
      const during = `reading the machines of ${name}`;
      const pass = (stopping: AbortSignal) => sweep.pass(stopping);
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
    await this.#releaseWithoutDrift();
    for (const machineId of await offlineMachinesWithReadyAgent(database, BATCH)) {
      await changeMachine(database, { machineId, scope: null }, (machine) => {
        const isBack =
          machine.service === 'offline' &&
          machine.presence === 'ready' &&
          !staysOutOfService(machine.conditions);
        if (!isBack || machine.activeOperationId !== null) return { machine, events: [] };
        const comment = 'its agent is ready';
        const change = { service: { to: 'active', owner: 'heartbeat', comment } } as const;
        return applyChange(machine, change, { at: new Date(), actor: HEARTBEAT, operationId: null });
      });
    }
  }

  /** Machines that were quarantined for drift return when the drift has ended: at once, not with the next sweep. */
  async #releaseWithoutDrift(): Promise<void> {
    const { database } = this.#options;
    for (const machineId of await recoveredQuarantinedMachines(database, BATCH)) {
      await changeMachine(database, { machineId, scope: null }, (machine) => {
        const { observed } = machine;
        if (observed?.state !== 'Deployed' || isTrue(machine.conditions, 'Retired'))
          return { machine, events: [] };
        const change = changeByDrift(machine, observed.state, 'system');
        return applyChange(machine, change, { at: new Date(), actor: DRIFT, operationId: null });
      });
    }
  }
}
