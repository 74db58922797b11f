/** What steps need of the control plane itself, whatever the machine's provider: a dependency of its own, not a capability. */
import type { HardwareVerdict } from '../domain/hardware/hardware-profile.ts';
import type { Erasure } from '../domain/install/erasure.ts';
import type { HardwareInventory, InventorySource } from '../domain/install/hardware-inventory.ts';
import type { ProviderCall } from '../providers/provider.ts';
import type { HardwareMoves } from './hardware/hardware-moves.ts';

export interface ControlPlane {
  readonly nodeServices: NodeServices;
  readonly hardware: HardwareMoves;
  readonly inventories: HardwareInventories;
  readonly evidence: EraseEvidence;
}

/** The signed evidence of erasures. */
export interface EraseEvidence {
  /** The operation has its certificate. */
  isRecorded(call: ProviderCall): Promise<boolean>;
  /** Twice for one operation is once. */
  record(call: ProviderCall, erasure: Erasure, erasedBy: 'installer' | 'bmc'): Promise<void>;
}

/** What is known of machines' hardware. */
export interface HardwareInventories {
  /** What the call has recorded; null: nothing yet, or another has recorded after it. */
  recordedBy(call: ProviderCall, source: InventorySource): Promise<RecordedHardware | null>;
  /** Twice for one key is once. MAC addresses fill a spec that has none. */
  record(call: ProviderCall, source: InventorySource, inventory: HardwareInventory): Promise<void>;
  /** What the hardware profiles make of what is known; null: nothing is known. */
  verdict(call: ProviderCall): Promise<HardwareVerdict | null>;
}

export interface RecordedHardware {
  readonly version: number;
  readonly inventory: HardwareInventory;
  /** How it differs from the version before; null: it is the first, or what was known already. */
  readonly changes: readonly string[] | null;
}

export interface NodeServices {
  /** A new token for the machine's agent; the one that it had is revoked. Never kept, never logged. */
  issueAgentToken(call: ProviderCall, pool: string): Promise<{ readonly token: string }>;
  /** The public half of the host key that the machine is about to be deployed with: the machine is verified by it from now on. */
  rememberHostKey(call: ProviderCall, publicKey: string): Promise<void>;
  /** Deletes every secret of the machine that we keep, and the host key that its deployment gave it. May be repeated. */
  forgetSecrets(call: ProviderCall): Promise<void>;
  /** The URL at which machines reach this server's HTTP port. */
  serverUrl(): string;
  /** The workloads that its agent reports; null: no agent reports any. */
  workloads(call: ProviderCall): Promise<{ readonly workers: number; readonly containers: number } | null>;
  /** Asks the site, over HTTP, to carry out a stage that is the site's own. */
  hook(call: ProviderCall, stage: string): Promise<'done' | 'under_way' | 'not_configured'>;
}
