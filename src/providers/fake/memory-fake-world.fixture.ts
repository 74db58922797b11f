import { type FakeState, type FakeTask, NEW_FAKE_STATE } from './fake-state.ts';
import type { FakeWorld } from './fake-tasks.ts';

/** The simulated machines in memory. It keeps every task that was ever started, so that a second one can't hide. */
export class MemoryFakeWorld implements FakeWorld {
  readonly tasks: FakeTask[] = [];
  readonly #states = new Map<string, FakeState>();

  put(machineId: string, fields: Partial<FakeState>): void {
    this.#states.set(machineId, { ...this.#state(machineId), ...fields });
  }

  async read(machineId: string): Promise<FakeState> {
    return this.#state(machineId);
  }

  async update(machineId: string, change: (state: FakeState) => FakeState): Promise<FakeState> {
    const before = this.#state(machineId);
    const after = change(before);
    if (after.task && after.task !== before.task) this.tasks.push(after.task);
    this.#states.set(machineId, after);
    return after;
  }

  #state(machineId: string): FakeState {
    return this.#states.get(machineId) ?? NEW_FAKE_STATE;
  }
}
