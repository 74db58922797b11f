/** A machine's identity and the hardware behind it, as steps see them. Nothing here touches the hardware itself. */
import type { InstallState } from '../../domain/install/install-state.ts';
import type { FactName, HardwareFacts } from '../../domain/install/node.ts';
import type { Replacement } from '../../domain/machine/replacement.ts';
import type { ProviderCall } from '../../providers/provider.ts';

/** The identifiers that the machine has at one time: enough to restore them. */
export interface HardwareView {
  readonly state: InstallState;
  readonly macAddresses: readonly string[];
  readonly bmcEndpoint: string;
  readonly facts: HardwareFacts;
  readonly editedFacts: readonly FactName[];
  /** When its current hardware booted or reported; null: not yet. */
  readonly seenAt: string | null;
}

export interface HardwareMoves {
  /** Null: the machine is no node. */
  read(call: ProviderCall): Promise<HardwareView | null>;
  /**
   * The machine has the replacement's identifiers from now on, and is migrating. A discovered node in the scope that has one of its
   * addresses is taken in. Throws a StepFailure where another machine has them, or where the node is in a state that nothing starts from.
   */
  replace(call: ProviderCall, replacement: Replacement & { readonly scope: string }): Promise<void>;
  /** Back to what it went by before. */
  restore(call: ProviderCall, before: HardwareView): Promise<void>;
  /** The replacement is the machine: active. */
  finish(call: ProviderCall): Promise<void>;
}
