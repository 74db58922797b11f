/**
 * What operators do to a fleet of fake machines while it storms. Each machine is worked on by a script of its
 * own, one operation after another: reboots, reimages, in and out of maintenance; some canceled, some steered to
 * fail, some asked for twice at once, some in competition with another.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../../src/cli/connection/api.ts';
import type { Phase } from '../../src/domain/machine/phase.ts';
import type { PhaseGatedType } from '../../src/domain/operation/phase-gated-type.ts';
import { MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import type { Endings } from './endings.ts';
import type { PatientClient } from './patient-client.ts';
import type { Random } from './seeded-random.ts';

/** One request to start an operation, and what came of it. */
export interface StartRecord {
  readonly machineId: string;
  readonly requestId: string;
  readonly type: StormType;
  /** Every answer that named an operation named this one; null when it was refused. */
  readonly operationId: string | null;
  /** Answers to the same request that named another operation. */
  readonly otherIds: readonly string[];
  /** A call for it went unanswered, so a refusal does not say that there is no operation. */
  readonly isDoubtful: boolean;
}

export interface WorkloadDependencies {
  readonly client: PatientClient;
  readonly endings: Endings;
  readonly random: Random;
}

export interface WorkloadSize {
  readonly machines: number;
  readonly operations: number;
}

type Start = (
  api: Api,
  target: { machineId: string; requestId: string },
  signal: AbortSignal,
) => Promise<Operation>;

export const STARTS = {
  REBOOT: ({ machines }, target, signal) => machines.rebootMachine(target, { signal }),
  REIMAGE: ({ machines }, target, signal) =>
    machines.reimageMachine({ ...target, imageRef: 'ubuntu-2204' }, { signal }),
  ENTER_MAINTENANCE: ({ machines }, target, signal) => machines.enterMaintenance(target, { signal }),
  EXIT_MAINTENANCE: ({ machines }, target, signal) => machines.exitMaintenance(target, { signal }),
} as const satisfies Partial<Record<PhaseGatedType, Start>>;

export type StormType = keyof typeof STARTS;

/** Picked with equal chances. */
const CHOICES = {
  FACTORY_READY: ['ENTER_MAINTENANCE'],
  READY: ['REBOOT', 'REBOOT', 'REBOOT', 'ENTER_MAINTENANCE', 'ENTER_MAINTENANCE'],
  MAINTENANCE: ['REIMAGE', 'REIMAGE', 'REIMAGE', 'REBOOT', 'REBOOT', 'EXIT_MAINTENANCE'],
} as const satisfies Record<Phase, readonly [StormType, ...StormType[]]>;

/** Each value of the label is good for its failures once a machine; the last two use up every attempt. */
const FAILURES = [
  'reboot:1',
  'netboot:1',
  'repave:1',
  'join:1',
  'netboot:2',
  'reboot:2',
  'verify:1',
] as const;

const CANCEL_CHANCE = 0.08;
const FAIL_CHANCE = 0.08;
const TWICE_CHANCE = 0.1;
const RIVAL_CHANCE = 0.05;

export class Workload {
  readonly starts: StartRecord[] = [];
  readonly machineIds: string[];
  canceled = 0;
  readonly #dependencies: WorkloadDependencies;
  readonly #size: WorkloadSize;

  constructor(dependencies: WorkloadDependencies, size: WorkloadSize) {
    this.#dependencies = dependencies;
    this.#size = size;
    this.machineIds = Array.from({ length: size.machines }, (_, index) => `storm-${index + 1}`);
  }

  /** Returns when every script is through, or when nothing moves any more. */
  async run(): Promise<void> {
    const { machines, operations } = this.#size;
    const share = (index: number) =>
      Math.floor(operations / machines) + (index < operations % machines ? 1 : 0);
    const scripts = this.machineIds.map((id, index) =>
      new MachineScript(id, this.#dependencies, this).run(share(index)),
    );
    const results = await Promise.allSettled(scripts);
    if (this.#dependencies.endings.stalled.aborted) return;
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}

class MachineScript {
  readonly #machineId: string;
  readonly #dependencies: WorkloadDependencies;
  readonly #workload: Workload;
  readonly #random: Random;
  readonly #stepMs: number;
  #phase: Phase = 'FACTORY_READY';
  #requests = 0;
  #failures = 0;

  constructor(machineId: string, dependencies: WorkloadDependencies, workload: Workload) {
    this.#machineId = machineId;
    this.#dependencies = dependencies;
    this.#workload = workload;
    this.#random = dependencies.random.branch(machineId);
    this.#stepMs = 5 + this.#random.below(56);
  }

  async run(operations: number): Promise<void> {
    const targetClusterRef = this.#random.chance(0.4) ? 'storm-cluster' : '';
    const machine = { machineId: this.#machineId, labels: this.#labels(null), spec: { targetClusterRef } };
    await this.#must((api, signal) => api.machines.registerMachine({ machine }, { signal }));
    for (let done = 0; done < operations; ) {
      if (this.#random.chance(FAIL_CHANCE)) await this.#steerToFail();
      const type = this.#random.pick(CHOICES[this.#phase]);
      const rivals = this.#random.chance(RIVAL_CHANCE) && done + 1 < operations ? 2 : 1;
      const started = await Promise.all(Array.from({ length: rivals }, () => this.#start(type)));
      const operationIds = started.flatMap((id) => id ?? []);
      await Promise.all(operationIds.map((id) => this.#follow(id, type)));
      done += operationIds.length;
      if (operationIds.length === 0) this.#phase = await this.#currentPhase();
    }
  }

  /** A call without an answer may have been carried out after all, and its operation may have changed the phase. */
  async #currentPhase(): Promise<Phase> {
    const request = { machineId: this.#machineId };
    const machine = await this.#must((api, signal) => api.machines.getMachine(request, { signal }));
    return MachineStatus_Phase[machine.status?.phase ?? 0] as Phase;
  }

  #labels(failStep: string | null): Record<string, string> {
    const labels: Record<string, string> = { 'fake/step-ms': String(this.#stepMs) };
    if (failStep !== null) labels['fake/fail-step'] = failStep;
    return labels;
  }

  async #steerToFail(): Promise<void> {
    const failStep = FAILURES[this.#failures];
    if (failStep === undefined) return;
    this.#failures += 1;
    const machine = { machineId: this.#machineId, labels: this.#labels(failStep) };
    await this.#must((api, signal) =>
      api.machines.updateMachine({ machine, updateMask: { paths: ['labels'] } }, { signal }),
    );
  }

  async #start(type: StormType): Promise<string | null> {
    this.#requests += 1;
    const target = { machineId: this.#machineId, requestId: `request-${this.#requests}` };
    const times = this.#random.chance(TWICE_CHANCE) ? 2 : 1;
    const answers = await Promise.all(
      Array.from({ length: times }, () =>
        this.#dependencies.client.call(this.#random, (api, signal) => STARTS[type](api, target, signal)),
      ),
    );
    const ids = answers.flatMap((answer) => (answer.outcome === 'answered' ? answer.value.operationId : []));
    const [operationId = null, ...more] = ids;
    this.#workload.starts.push({
      ...target,
      type,
      operationId,
      otherIds: more.filter((id) => id !== operationId),
      isDoubtful: answers.some(({ doubts }) => doubts > 0),
    });
    return operationId;
  }

  async #follow(operationId: string, type: StormType): Promise<void> {
    const end = this.#dependencies.endings.of(operationId);
    if (this.#random.chance(CANCEL_CHANCE)) {
      const pauseMs = this.#random.below(4 * this.#stepMs);
      // The end may come first, and a stall before either.
      await Promise.race([sleep(pauseMs).then(() => this.#cancel(operationId)), end]);
    }
    if ((await end) !== 'completed') return;
    if (type === 'ENTER_MAINTENANCE') this.#phase = 'MAINTENANCE';
    if (type === 'EXIT_MAINTENANCE') this.#phase = 'READY';
  }

  /** One that has ended meanwhile can't be canceled, and that is fine. */
  async #cancel(operationId: string): Promise<void> {
    const request = { operationId, reason: 'changed my mind' };
    const answer = await this.#dependencies.client.call(this.#random, (api, signal) =>
      api.machines.cancelOperation(request, { signal }),
    );
    if (answer.outcome === 'answered') this.#workload.canceled += 1;
    else if (answer.error.reason !== 'OPERATION_FINISHED') throw answer.error;
  }

  async #must<T>(ask: (api: Api, signal: AbortSignal) => Promise<T>): Promise<T> {
    const answer = await this.#dependencies.client.call(this.#random, ask);
    if (answer.outcome === 'refused') throw answer.error;
    return answer.value;
  }
}
