/** A client that watches all operations through the storm, and resumes from its cursor wherever it was cut off. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '../../src/cli/connection/call-error.ts';
import { type OperationEvent, OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import type { ReplicaSet } from './replica-set.ts';
import type { Random } from './seeded-random.ts';

/** A change as a watcher receives it: the status that the operation now has, or the step that changed. */
export interface ReceivedChange {
  readonly operationId: string;
  readonly change: string;
}

/** It is taken to have received everything when nothing came for this long. */
const SILENCE_MS = 10_000;

export class Watcher {
  readonly received: ReceivedChange[] = [];
  resumed = 0;
  /** From here on it must miss nothing. */
  readonly synced: Promise<void>;
  readonly #replicas: ReplicaSet;
  readonly #random: Random;
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;
  #cursor = '';
  #onSynced: () => void = () => {};

  constructor(replicas: ReplicaSet, random: Random) {
    this.#replicas = replicas;
    this.#random = random;
    this.synced = new Promise((resolve) => {
      this.#onSynced = resolve;
    });
    this.#watching = this.#watch();
  }

  /** Waits until it has received as many changes as there were, or receives no more. */
  async catchUp(changes: number): Promise<void> {
    let known = -1;
    for (let lastAt = performance.now(); this.received.length < changes; await sleep(50)) {
      if (this.received.length !== known) lastAt = performance.now();
      else if (performance.now() - lastAt > SILENCE_MS) return;
      known = this.received.length;
    }
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const [first, ...others] = this.#replicas.ready;
      try {
        if (first) {
          const { api } = this.#random.pick([first, ...others]);
          const request = { filter: '', cursor: this.#cursor, sendSynced: true };
          for await (const event of api.operations.watchOperations(request, { signal })) this.#receive(event);
        }
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        this.resumed += 1;
      }
      if (!signal.aborted) await sleep(20);
    }
  }

  #receive({ kind, cursor, snapshot, step }: OperationEvent): void {
    if (cursor !== '') this.#cursor = cursor;
    if (kind === OperationEvent_Kind.SYNCED) this.#onSynced();
    const operationId = snapshot?.operationId ?? '';
    if (kind === OperationEvent_Kind.OPERATION)
      this.received.push({ operationId, change: snapshot?.status ?? '' });
    if (kind === OperationEvent_Kind.STEP) this.received.push({ operationId, change: `step ${step}` });
  }
}
