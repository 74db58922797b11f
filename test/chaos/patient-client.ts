/**
 * A client as the API requires: it calls any replica, and when no answer came it asks another with the same
 * request. Whether the first call was received is then not known; the request id is what makes the second one safe.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../../src/cli/connection/api.ts';
import { CallError } from '../../src/cli/connection/call-error.ts';
import { nameOfStatus, type StatusCode, status } from '../../src/cli/connection/status.ts';
import type { ReplicaSet } from './replica-set.ts';
import type { Random } from './seeded-random.ts';

/** No answer, or none about the request itself. */
const PASSING: readonly StatusCode[] = [
  status.UNAVAILABLE,
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNKNOWN,
];

export type Answer<T> =
  | { readonly outcome: 'answered'; readonly value: T; readonly doubts: number }
  | { readonly outcome: 'refused'; readonly error: CallError; readonly doubts: number };

const CALL_MS = 3_000;

export class PatientClient {
  /** Calls without an answer, by gRPC code. */
  readonly unanswered: Record<string, number> = {};
  readonly #replicas: ReplicaSet;
  readonly #over: AbortSignal;

  constructor(replicas: ReplicaSet, over: AbortSignal) {
    this.#replicas = replicas;
    this.#over = over;
  }

  async call<T>(random: Random, ask: (api: Api, signal: AbortSignal) => Promise<T>): Promise<Answer<T>> {
    for (let doubts = 0; ; ) {
      this.#over.throwIfAborted();
      const [first, ...others] = this.#replicas.ready;
      if (!first) {
        await sleep(20);
        continue;
      }
      try {
        const { api } = random.pick([first, ...others]);
        return { outcome: 'answered', value: await ask(api, AbortSignal.timeout(CALL_MS)), doubts };
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        if (!PASSING.includes(error.code)) return { outcome: 'refused', error, doubts };
        const code = nameOfStatus(error.code);
        this.unanswered[code] = (this.unanswered[code] ?? 0) + 1;
        doubts += 1;
        await sleep(Math.min(500, 20 * doubts));
      }
    }
  }
}
