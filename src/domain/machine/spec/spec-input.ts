/** Checks the spec of a request with the checks of SPEC_FIELDS, and chooses the machine's provider. */
import type { Labels, MachineSpec } from '../machine.ts';
import { type SpecContext, unknownProvider } from './spec-check.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS, type SpecField, type SpecFieldName } from './spec-field.ts';
import { type SpecValue, specValue, withSpecValue } from './spec-value.ts';

/** The spec as it is stored. Throws the fault of the first field, in the order of the table, that is wrong. */
export function checkSpec(spec: MachineSpec, context: SpecContext): MachineSpec {
  return SPEC_FIELD_NAMES.reduce(
    (checked, name) => withSpecValue(checked, name, checkField(name, specValue(spec, name), context)),
    spec,
  );
}

export function checkField(name: SpecFieldName, value: SpecValue, context: SpecContext): SpecValue {
  const field: SpecField = SPEC_FIELDS[name];
  const path = `spec.${name}`;
  return field.type === 'text'
    ? field.check(value as string, path, context)
    : field.check(value as readonly string[], path, context);
}

const PROVIDER_LABEL = 'provider';

/** The provider that the label `provider` names; empty without that label. */
export function labelledProvider(labels: Labels): string {
  return Object.hasOwn(labels, PROVIDER_LABEL) ? (labels[PROVIDER_LABEL] ?? '') : '';
}

export interface ProviderChoice {
  readonly spec: Pick<MachineSpec, 'provider'>;
  readonly labels: Labels;
  /** The provider when neither spec nor label names one. */
  readonly otherwise: string;
}

/** The spec's provider, or else the one that the label `provider` names, which must be configured as well. */
export function chosenProvider(choice: ProviderChoice, providers: ReadonlySet<string>): string {
  const { spec, labels, otherwise } = choice;
  if (spec.provider !== '') return spec.provider;
  const labelled = labelledProvider(labels);
  if (labelled === '') return otherwise;
  if (!providers.has(labelled)) throw unknownProvider(labelled, providers, `labels.${PROVIDER_LABEL}`);
  return labelled;
}
