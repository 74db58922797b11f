/** What a provider does to a BMC, whatever protocol it has. Every call may be repeated, and its effect can be observed. */
import type { KnownLog } from '../../../domain/hardware/hardware-log.ts';
import type { HardwareReading } from '../../../domain/hardware/hardware-reading.ts';
import type { HardwareInventory } from '../../../domain/install/hardware-inventory.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { ConsoleConnection, ConsoleOptions, ProbeResult, ProviderCall } from '../../provider.ts';

export interface BmcControl {
  power(call: ProviderCall): Promise<'on' | 'off'>;
  switchPower(call: ProviderCall, to: 'on' | 'off'): Promise<void>;
  /** Asks the operating system to go down. */
  shutDown(call: ProviderCall): Promise<void>;
  /** `none`: as the firmware is set up. */
  bootDevice(call: ProviderCall): Promise<string>;
  /** Returns what the BMC says afterwards. */
  setBootDevice(call: ProviderCall, device: string): Promise<void>;
  /** Why the BMC can't have the firmware boot from an address; null: it can. */
  httpBootObstacle(call: ProviderCall): Promise<string | null>;
  /** The address that the firmware boots from next; null: none, or it is not known. */
  httpBootUri(call: ProviderCall): Promise<string | null>;
  /** The next boot is one from this address. Whether the BMC says so afterwards. The address is a secret. */
  setHttpBoot(call: ProviderCall, uri: string): Promise<'set' | 'not set'>;
  /** Everything that it says of the machine's hardware. */
  readHardware(call: ProviderCall): Promise<HardwareInventory>;
  /** What it measures and logs. Null: another caller uses the BMC, or has asked for it meanwhile. */
  readSensors(machine: Machine, known: KnownLog, signal: AbortSignal): Promise<HardwareReading | null>;
  /** The address of what is in the virtual CD drive; null: nothing is. */
  insertedMedia(call: ProviderCall): Promise<string | null>;
  insertMedia(call: ProviderCall, url: string): Promise<void>;
  ejectMedia(call: ProviderCall): Promise<void>;
  /** Why the machine can't be booted from the virtual CD drive; null: it can. */
  mediaObstacle(call: ProviderCall): Promise<string | null>;
  /** As `insertMedia`, and the address is a secret. */
  insertOwnMedia(call: ProviderCall, url: string): Promise<void>;
  /** The next boot, and no later one, is one by UEFI from the virtual CD drive. */
  bootFromMedia(call: ProviderCall): Promise<void>;
  /** Throws a StepFailure where its protocol has neither inventory nor virtual media. */
  checkRedfish(machine: Machine): void;
  /** Throws a StepFailure, or a ConsoleFailure where the BMC offers no console, or another client has it. */
  openConsole(machine: Machine, options: ConsoleOptions): Promise<ConsoleConnection>;
  /** Null: an operation is using the BMC. */
  probe(machine: Machine, signal: AbortSignal): Promise<ProbeResult | null>;
  /** Throws a StepFailure where the spec or the configuration rules the BMC out. */
  checkStart(machine: Machine): void;
}

/** By the machine's endpoint. Throws a StepFailure where it has none. */
export type ControlOf = (machine: Machine) => BmcControl;
