/**
 * One step of one kind, run by the engine on a fake machine with a held clock, so that a process can die or a
 * cancel can come at any point: right before and right after every call to the provider and every write.
 */

import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import type { Machine } from '../domain/machine/machine.ts';
import { applyChange, type MachineChange, mergeChanges } from '../domain/machine/machine-change.ts';
import { isActive } from '../domain/operation/operation-status.ts';
import type { StepDefinition } from '../domain/operation/step.ts';
import { newStep } from '../domain/operation/step.ts';
import { CANCEL, sampleJob } from '../engine/job.fixture.ts';
import type { Job } from '../engine/job.ts';
import { JobLog, LogWriter } from '../engine/job-log.ts';
import { Lease } from '../engine/lease.ts';
import { MemoryJobStore, ProcessDeath } from '../engine/memory-job-store.fixture.ts';
import { PassSlots } from '../engine/pass-slots.ts';
import { runJob } from '../engine/run-job.ts';
import { Interrupted } from '../engine/run-step.ts';
import { createFakeProvider } from '../providers/fake/fake-provider.ts';
import { type FakeState, settle } from '../providers/fake/fake-state.ts';
import { MemoryFakeWorld } from '../providers/fake/memory-fake-world.fixture.ts';
import type { Provider } from '../providers/provider.ts';
import { NO_CONTROL_PLANE } from './control-plane.fixture.ts';
import type { ControlPlane } from './control-plane.ts';
import { canUndo, defineStep, handlerFor, isInstant } from './registry.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');

export type Scenario = ScenarioSteps & ScenarioWorld;

type ScenarioSteps =
  | { readonly kind: string; readonly config: Readonly<Record<string, unknown>> }
  | { readonly steps: readonly StepDefinition[] };

export interface ScenarioWorld {
  /** The machine's row and the simulated machine, as the step finds them. */
  readonly machine?: Partial<Machine>;
  readonly world?: Partial<FakeState>;
  /** Its boots can't be distinguished, and a BMC switches its power. */
  readonly switchesPower?: true;
  /** How long each task takes. */
  readonly stepMs: number;
  /** In place of the fake provider, whose world it does not change. */
  readonly provider?: (now: () => number) => Provider;
  /** In place of none; made after the provider. */
  readonly controlPlane?: () => ControlPlane;
  /** The machine as a handler finds it, where more changes it than the steps. */
  readonly seenAs?: (machine: Machine) => Machine;
}

function stepsOf(scenario: ScenarioSteps): readonly StepDefinition[] {
  if ('steps' in scenario) return scenario.steps;
  const { kind, config } = scenario;
  return [defineStep({ name: kind, kind, config, timeoutSeconds: 600, maxRetries: 1 })];
}

/** At which points, counted from 0, something happens. */
export interface Disturbance {
  readonly cancelAt?: number;
  readonly dieAt?: number;
  /** How long after a death another process takes over. */
  readonly leaseMs?: number;
}

/** What is left of a run when it is over: everything but which holder did it. */
export interface End {
  readonly status: Job['status'];
  readonly step: Job['steps'][number]['state'] | undefined;
  readonly error: string | undefined;
  readonly attempts: number | undefined;
  readonly machine: Pick<Machine, 'phase'> & { readonly conditions: Record<string, unknown> };
  readonly body: Omit<FakeState, 'ended' | 'fence' | 'failures'>;
  /** Something goes on although the run is over. */
  readonly underWay: boolean;
  /** The tasks that were started, by kind and target. */
  readonly tasks: readonly string[];
}

export class StepRun {
  readonly world = new MemoryFakeWorld();
  readonly clock = { ms: START };
  readonly machine: Machine;
  readonly step: StepDefinition;
  readonly provider: Provider;
  readonly controlPlane: ControlPlane;
  /** Points passed so far. */
  points = 0;
  readonly #store = new MemoryJobStore<MachineChange>(() => this.clock.ms);
  readonly #disturbance: Disturbance;
  readonly #seenAs: (machine: Machine) => Machine;
  #owner = '';
  #holders = 0;
  #cancel = new AbortController();

  constructor(scenario: Scenario, disturbance: Disturbance = {}) {
    const labels = { 'fake/step-ms': String(scenario.stepMs) };
    this.machine = sampleMachine({ phase: 'MAINTENANCE', labels, ...scenario.machine });
    this.world.put(this.machine.machineId, scenario.world ?? {});
    const steps = stepsOf(scenario);
    const [first] = steps;
    if (!first) throw new Error('a run has at least one step');
    this.step = first;
    this.#seenAs = scenario.seenAs ?? ((machine) => machine);
    this.#disturbance = disturbance;
    const now = () => this.clock.ms;
    const provider =
      scenario.provider?.(now) ??
      createFakeProvider({
        name: 'fake',
        world: this.world,
        now,
        ...(scenario.switchesPower && { switchesPower: true }),
      });
    this.provider = { ...provider, capabilities: this.#disturbed(provider.capabilities) };
    this.controlPlane = this.#disturbed(scenario.controlPlane?.() ?? NO_CONTROL_PLANE);
    for (const moment of ['before', 'after'] as const) {
      this.#store[moment] = (call) => {
        if (call === 'record') this.#pass();
      };
    }
    this.#store.add(sampleJob({ id: 'op-1', steps: steps.map(newStep) }));
  }

  /** Works on the job until it is over, with a new holder after each death. */
  async toTheEnd(): Promise<End> {
    for (let pass = 0; pass < 200 && this.#isActive(); pass += 1) {
      this.clock.ms += Math.max(0, this.#store.dueInMs('op-1'));
      await this.#hold();
    }
    if (this.#isActive()) throw new Error(`not over: ${JSON.stringify(this.#store.job('op-1'))}`);
    return this.#end();
  }

  /** One holder only: until it releases the job, or dies. */
  async untilDeath(): Promise<void> {
    await this.#hold();
  }

  #isActive(): boolean {
    return isActive(this.#store.job('op-1').status);
  }

  async #hold(): Promise<void> {
    const { leaseMs = 10_000 } = this.#disturbance;
    this.#owner = `holder-${this.#holders++}`;
    const { jobs } = await this.#store.claim({
      owner: this.#owner,
      limit: 1,
      leaseMs,
      deaths: 'counted',
    });
    const [job] = jobs;
    if (!job) throw new Error('the job is not due');
    this.#cancel = new AbortController();
    const now = () => new Date(this.clock.ms);
    const writer = new LogWriter({ appendLog: async () => {} }, () => {});
    const control = {
      lease: new Lease(job.id, job.epoch, this.clock.ms, leaseMs, () => this.clock.ms),
      log: new JobLog(writer, job, { maxBytes: 10_000, now }),
      stop: this.#cancel.signal,
      uncancelable: () => new AbortController().signal,
    };
    await runJob(job, control, {
      owner: this.#owner,
      store: this.#store,
      rules: {
        backoff: { firstMs: 1_000, maxMs: 60_000 },
        maxUndoRetries: 3,
        maxDeaths: 10,
        canUndo,
        onEnd: () => null,
        merge: mergeChanges,
      },
      handlerFor: async (_job, step) => handlerFor(step, { ...this, machine: this.currentMachine() }),
      isInstant,
      slots: new PassSlots(1, 0, () => this.clock.ms),
      now,
      random: () => 0.5,
      onUnexpected: (error) => {
        if (!(error instanceof ProcessDeath)) throw error;
      },
      crashPoint: () => {},
    }).catch((error: unknown) => {
      if (!(error instanceof ProcessDeath)) throw error;
    });
  }

  /** What a step calls, with a point before and after each call; serverUrl calls nothing. */
  #disturbed<Ports extends object>(ports: Ports): Ports {
    const around = <Call extends (...args: never[]) => Promise<unknown>>(call: Call) =>
      (async (...args: Parameters<Call>) => {
        this.#pass();
        const result = await call(...args);
        this.#pass();
        return result;
      }) as unknown as Call;
    const disturbed = Object.fromEntries(
      Object.entries(ports).map(([name, methods]) => [
        name,
        Object.fromEntries(
          Object.entries(methods as Record<string, (...args: never[]) => Promise<unknown>>).map(
            ([method, call]) => [
              method,
              typeof call === 'function' && method !== 'serverUrl' ? around(call) : call,
            ],
          ),
        ),
      ]),
    );
    return disturbed as Ports;
  }

  #pass(): void {
    const { cancelAt, dieAt } = this.#disturbance;
    const point = this.points++;
    if (point === cancelAt) {
      this.#store.cancel('op-1', CANCEL);
      this.#cancel.abort(new Interrupted('cancel'));
    }
    if (point !== dieAt) return;
    this.#store.kill(this.#owner);
    throw new ProcessDeath(`at point ${point}`);
  }

  /** With every change that the steps recorded. */
  currentMachine(): Machine {
    const cause = { at: new Date(START), actor: CANCEL.actor, operationId: 'op-1' };
    const changed = this.#store.changes.reduce(
      (machine, change) => applyChange(machine, change, cause).machine,
      this.machine,
    );
    return this.#seenAs(changed);
  }

  async #end(): Promise<End> {
    const job = this.#store.job('op-1');
    const [step] = job.steps;
    const { phase, conditions } = this.currentMachine();
    const state = await this.world.read(this.machine.machineId);
    // What was started and never seen to end would show a day later.
    const later = settle(state, this.clock.ms + 24 * 60 * 60 * 1000);
    const { ended: _ended, fence: _fence, failures: _failures, ...body } = later;
    return {
      status: job.status,
      step: step?.state,
      error: job.error?.code,
      attempts: step?.attempts,
      machine: { phase, conditions },
      body,
      underWay: settle(state, this.clock.ms).task !== null,
      tasks: this.world.tasks.map(({ kind, target }) => `${kind} ${target}`.trim()),
    };
  }
}
