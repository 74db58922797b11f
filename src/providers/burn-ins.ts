/** What a provider needs of the install layer for a burn-in: as with an installation, an order says what the machine's next boot does. */
import type { BurnIn, BurnInRequest } from '../domain/hardware/burn-in.ts';
import type { Machine } from '../domain/machine/machine.ts';

export interface BurnInOrders {
  /** Throws a StepFailure where the server has no installer that can. */
  check(machine: Machine, arch: string): void;
  read(machineId: string, operationId: string): Promise<BurnIn | null>;
  /** One of the same key is left as it is. */
  order(
    order: BurnInRequest & { readonly machineId: string; readonly operationId: string; readonly key: string },
  ): Promise<void>;
  /** The machine was made to boot. */
  sent(machineId: string, operationId: string): Promise<void>;
  /** Nothing is tested for the operation any more. */
  giveUp(machineId: string, operationId: string, reason: string): Promise<void>;
}
