/** What a provider does to a BMC, whatever protocol it has. Every call may be repeated, and its effect can be observed. */
import type { HardwareInventory } from '../../domain/install/hardware-inventory.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { ProbeResult, ProviderCall } from '../provider.ts';

export interface BmcControl {
  power(call: ProviderCall): Promise<'on' | 'off'>;
  switchPower(call: ProviderCall, to: 'on' | 'off'): Promise<void>;
  /** Asks the operating system to go down. */
  shutDown(call: ProviderCall): Promise<void>;
  /** `none`: as the firmware is set up. */
  bootDevice(call: ProviderCall): Promise<string>;
  /** Returns what the BMC says afterwards. */
  setBootDevice(call: ProviderCall, device: string): Promise<void>;
  /** Everything that it says of the machine's hardware. */
  readHardware(call: ProviderCall): Promise<HardwareInventory>;
  /** Throws a StepFailure where its protocol has no inventory. */
  checkInspect(machine: Machine): void;
  /** Null: an operation is using the BMC. */
  probe(machine: Machine, signal: AbortSignal): Promise<ProbeResult | null>;
  /** Throws a StepFailure where the spec or the configuration rules the BMC out. */
  checkStart(machine: Machine): void;
}

/** By the machine's endpoint. Throws a StepFailure where it has none. */
export type ControlOf = (machine: Machine) => BmcControl;
