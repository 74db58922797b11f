/** The machines of a rollout in the order of their turn, small enough that fifty thousand of them fit into a page. */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { RolloutMachineState } from '../../../../src/domain/rollout/rollout.ts';
import type { RolloutMachine } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { machineState } from '../../rollout-view.ts';

export interface GridMachine {
  readonly machineId: string;
  readonly wave: number;
  readonly state: RolloutMachineState;
  /** From 1; the number of steps + 1 when it is done. */
  readonly step: number;
  readonly stepName: string;
  readonly operationId: string;
  readonly errorCode: string;
  readonly message: string;
  readonly attempts: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

export function gridMachine(message: RolloutMachine): GridMachine {
  return {
    machineId: message.machineId,
    wave: message.wave,
    state: machineState(message.state),
    step: message.step,
    stepName: message.stepName,
    operationId: message.operationId,
    errorCode: message.errorCode,
    message: message.message,
    attempts: message.attempts,
    startedAt: msOf(message.startedAt),
    finishedAt: msOf(message.finishedAt),
  };
}

function msOf(at: Timestamp | undefined): number | null {
  return at ? timestampMs(at) : null;
}

export class RolloutMachines {
  #list: readonly GridMachine[] = [];
  #positions = new Map<string, number>();

  /** Another array after every change. */
  get list(): readonly GridMachine[] {
    return this.#list;
  }

  /** They must be in the order of their turn. */
  replaceAll(machines: readonly GridMachine[]): void {
    this.#list = machines;
    this.#positions = new Map(machines.map(({ machineId }, index) => [machineId, index]));
  }

  /** Machines keep their places; those that are new come last in their wave. */
  apply(changed: readonly GridMachine[]): void {
    if (changed.length === 0) return;
    const next = [...this.#list];
    let hasNew = false;
    for (const machine of changed) {
      const position = this.#positions.get(machine.machineId);
      if (position !== undefined) next[position] = machine;
      else {
        this.#positions.set(machine.machineId, next.length);
        next.push(machine);
        hasNew = true;
      }
    }
    // The sort is stable: the order inside of a wave stays.
    if (hasNew) this.replaceAll(next.toSorted((left, right) => left.wave - right.wave));
    else this.#list = next;
  }
}
