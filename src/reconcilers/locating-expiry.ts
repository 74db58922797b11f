/**
 * Switches off the indicators whose time is over. Every replica looks; one takes each machine, for as long as a try lasts. An indicator
 * that can't be switched off now is tried again later, with the reason shown on the machine.
 */
import type { Actor } from '../domain/actor.ts';
import { afterFailure, type Locating } from '../domain/hardware/locating.ts';
import type { Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';
import { directCall } from '../operations/bmc/bmc-call.ts';
import type { Provider } from '../providers/provider.ts';
import type { Database } from '../store/database/database.ts';
import { changeLocating, takeDueLocating } from '../store/hardware/locating.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface LocatingExpiryOptions {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly now: () => Date;
  readonly watch: LoopWatch;
}

const EVERY_MS = 1_000;
const PIECE = 20;
const TRY_MS = 60_000;
const SERVER = { kind: 'system', id: 'locating' } as const satisfies Actor;

export class LocatingExpiry {
  readonly #options: LocatingExpiryOptions;
  readonly #loop: BackgroundLoop;

  constructor(options: LocatingExpiryOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'switching off indicators',
      everyMs: EVERY_MS,
      pass: (stop) => this.#pass(stop),
      watch: options.watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(stop: AbortSignal): Promise<void> {
    const { database, now } = this.#options;
    let due: Machine[];
    do {
      const at = now();
      // A replica that dies meanwhile holds none for longer.
      const heldUntil = new Date(at.getTime() + 2 * TRY_MS);
      due = await takeDueLocating(database, { at, heldUntil, limit: PIECE });
      await Promise.all(due.map((machine) => this.#switchOff(machine, stop)));
    } while (due.length === PIECE && !stop.aborted);
  }

  async #switchOff(machine: Machine, stop: AbortSignal): Promise<void> {
    const { machineId, locating } = machine;
    if (locating === null) return;
    const { until } = locating;
    const { database, now } = this.#options;
    const problem = await this.#set(machine, 'off', stop);
    const to = problem === null ? null : afterFailure(locating, now(), problem);
    const comment = 'its time was over';
    const isOver = await changeLocating(database, { machineId, actor: SERVER, comment, to, ifUntil: until });
    // Someone has asked for it again while it was switched off.
    if (!isOver && problem === null) await this.#set(machine, 'on', stop);
  }

  /** Null: it is done. */
  async #set(machine: Machine, to: 'on' | 'off', stop: AbortSignal): Promise<Locating['problem'] | null> {
    const bmc = this.#options.providers.get(machine.spec.provider)?.capabilities.bmc;
    if (!bmc) return `provider ${machine.spec.provider} does not administer BMCs`;
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TRY_MS)]);
    try {
      await bmc.setIndicator(directCall(machine, signal), to);
      return null;
    } catch (error) {
      if (error instanceof StepFailure) return error.failure.message;
      if (signal.aborted) return 'the BMC did not answer in time';
      throw error;
    }
  }
}
