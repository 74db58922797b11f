/**
 * Endless work: each machine reboots and is reimaged in turn, one operation after another, until it is asked
 * to stop. So at any time there is an operation under way on every machine.
 */
import type { Api } from '../../src/cli/connection/api.ts';
import type { Endings } from '../chaos/endings.ts';
import type { PatientClient } from '../chaos/patient-client.ts';
import type { Random } from '../chaos/seeded-random.ts';
import { STARTS, type StartRecord, type StormType } from '../chaos/workload.ts';

export interface FleetWorkDependencies {
  readonly client: PatientClient;
  readonly endings: Endings;
  readonly random: Random;
}

export interface FleetWorkSize {
  readonly machines: number;
  /** How long a step of a machine takes. */
  readonly stepMs: number;
}

const PREPARED_AT_A_TIME = 16;

export class FleetWork {
  readonly starts: StartRecord[] = [];
  readonly #dependencies: FleetWorkDependencies;
  readonly #size: FleetWorkSize;
  readonly #machineIds: readonly string[];
  #stopping = false;

  constructor(dependencies: FleetWorkDependencies, size: FleetWorkSize) {
    this.#dependencies = dependencies;
    this.#size = size;
    this.#machineIds = Array.from({ length: size.machines }, (_, index) => `fleet-${index + 1}`);
  }

  /** Registers the machines and brings them into MAINTENANCE, quickly. */
  async prepare(): Promise<void> {
    const ids = this.#machineIds.values();
    const worker = async () => {
      for (const machineId of ids) await this.#prepareOne(machineId);
    };
    await Promise.all(Array.from({ length: PREPARED_AT_A_TIME }, worker));
  }

  /** Returns when it was asked to stop and every operation has ended. */
  async run(): Promise<void> {
    await Promise.all(this.#machineIds.map((machineId) => this.#work(machineId)));
  }

  stop(): void {
    this.#stopping = true;
  }

  async #prepareOne(machineId: string): Promise<void> {
    const labels = (stepMs: number) => ({ 'fake/step-ms': String(stepMs) });
    await this.#must((api, signal) =>
      api.machines.registerMachine({ machine: { machineId, labels: labels(1) } }, { signal }),
    );
    await this.#operation(machineId, 'ENTER_MAINTENANCE', 0);
    const machine = { machineId, labels: labels(this.#size.stepMs) };
    await this.#must((api, signal) =>
      api.machines.updateMachine({ machine, updateMask: { paths: ['labels'] } }, { signal }),
    );
  }

  async #work(machineId: string): Promise<void> {
    for (let count = 1; !this.#stopping; count += 1) {
      await this.#operation(machineId, count % 2 === 0 ? 'REIMAGE' : 'REBOOT', count);
    }
  }

  async #operation(machineId: string, type: StormType, count: number): Promise<void> {
    const target = { machineId, requestId: `request-${count}` };
    const answer = await this.#dependencies.client.call(this.#dependencies.random, (api, signal) =>
      STARTS[type](api, target, signal),
    );
    if (answer.outcome === 'refused') throw answer.error;
    const { operationId } = answer.value;
    this.starts.push({ ...target, type, operationId, otherIds: [], isDoubtful: answer.doubts > 0 });
    await this.#dependencies.endings.of(operationId);
  }

  async #must<T>(ask: (api: Api, signal: AbortSignal) => Promise<T>): Promise<T> {
    const answer = await this.#dependencies.client.call(this.#dependencies.random, ask);
    if (answer.outcome === 'refused') throw answer.error;
    return answer.value;
  }
}
