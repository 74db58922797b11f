/**
 * What a machine's BMC does beside booting it: its power in every way, its indicator, its power limit, its log, its own restart, its
 * certificate and the password that we use there. Every method may be called again, as in provider.ts.
 */
import type { BmcCertificate } from '../domain/hardware/bmc-certificate.ts';
import type { BootOverrideRequest, BootReading } from '../domain/hardware/boot-override.ts';
import type { PowerReading } from '../domain/hardware/power-reading.ts';
import type { PowerRequest } from '../domain/hardware/power-request.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { ProviderCall } from './provider.ts';

/**
 * How far a rotation is. `none`: no password waits to be used. `prepared`: one waits, and the BMC takes the old one. `changed`: one waits, and
 * the BMC takes it.
 */
export type PasswordState = 'none' | 'prepared' | 'changed';

export interface PasswordRotation {
  /** Why it can't be replaced; null: it can. */
  readonly obstacle: string | null;
  /** `by all`: every machine that is looked up in the same place has it. */
  readonly sharing: 'own' | 'by all';
}

export interface BmcAdministration {
  power(call: ProviderCall): Promise<'on' | 'off'>;
  /** Whether the BMC can do it. One that does not say what it can do is believed. */
  offersPower(call: ProviderCall, request: PowerRequest): Promise<boolean>;
  /** Nothing is done where the machine has the power that the request ends in. */
  changePower(call: ProviderCall, request: PowerRequest): Promise<void>;

  /** `unknown`: the BMC does not say. */
  indicator(call: ProviderCall): Promise<'on' | 'off' | 'unknown'>;
  setIndicator(call: ProviderCall, to: 'on' | 'off'): Promise<void>;

  powerReading(call: ProviderCall): Promise<PowerReading>;
  /** `watts` null: no limit. */
  setPowerLimit(call: ProviderCall, watts: number | null): Promise<void>;

  /** Null: the BMC does not say. */
  logEntries(call: ProviderCall): Promise<number | null>;
  clearLog(call: ProviderCall): Promise<void>;

  /** The BMC restarts; its machine goes on. */
  resetBmc(call: ProviderCall): Promise<void>;

  bootOverride(call: ProviderCall): Promise<BootReading>;
  /** Throws a StepFailure where the BMC says something else afterwards. */
  setBootOverride(call: ProviderCall, request: BootOverrideRequest): Promise<void>;

  /** What it shows, before any credential is sent. */
  certificate(call: ProviderCall): Promise<BmcCertificate>;

  /** Whether the password can be replaced where it is kept. Known without contacting anything. */
  rotation(machine: Machine): PasswordRotation;
  /** `likely`: the one that the BMC probably takes, which is tried first: BMCs lock accounts after a few wrong passwords. */
  passwordState(call: ProviderCall, likely: 'old' | 'new'): Promise<PasswordState>;
  /** Keeps a new password beside the old one, where the old one is kept. One that is kept already stays. */
  preparePassword(call: ProviderCall): Promise<void>;
  /** The BMC takes the new password from now on. */
  changePassword(call: ProviderCall): Promise<void>;
  /** The new password takes the place of the old one, where it is kept. */
  promotePassword(call: ProviderCall): Promise<void>;
  /** Forgets a new password that the BMC does not take. */
  dropPassword(call: ProviderCall): Promise<void>;
}
