import type { Machine } from '../../domain/machine/machine.ts';
import type { PhaseGatedType } from '../../domain/operation/phase-gated-type.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import type { Provider } from '../../providers/provider.ts';

/** How one type of operation becomes steps. One file a verb. */
export interface Recipe {
  readonly type: PhaseGatedType;
  /** Fills in what the caller left out; what comes back is kept with the operation for auditing. */
  readonly params: (
    asked: Readonly<Record<string, string>>,
    provider: Provider,
  ) => Readonly<Record<string, string>>;
  readonly steps: (
    machine: Machine,
    params: Readonly<Record<string, string>>,
    provider: Provider,
    /** As "role:name"; empty where nothing is started. */
    startedBy: string,
  ) => readonly StepDefinition[];
}

export function noParams(): Readonly<Record<string, string>> {
  return {};
}
