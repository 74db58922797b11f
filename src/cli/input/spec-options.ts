/** Options that set fields of a machine's spec, one for each row of SPEC_FIELDS. */
import { type Command, Option } from 'commander';
import { EMPTY_SPEC, messageOfSpec } from '../../domain/machine/spec/machine-spec.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS, type SpecFieldName } from '../../domain/machine/spec/spec-field.ts';
import { withSpecValue } from '../../domain/machine/spec/spec-value.ts';
import { several } from './options.ts';

function optionOf(name: SpecFieldName): Option {
  const { flag, description, type } = SPEC_FIELDS[name];
  return type === 'list'
    ? new Option(flag, `${description} (may be repeated)`).argParser(several)
    : new Option(flag, description);
}

export function addSpecOptions(command: Command, names: readonly SpecFieldName[]): Command {
  for (const name of names) command.addOption(optionOf(name));
  return command;
}

/** The spec that the options set, as a message, and the paths of its fields for an update mask. */
export function specOptions(options: object) {
  const given = new Map(Object.entries(options));
  const names = SPEC_FIELD_NAMES.filter((name) => given.get(optionOf(name).attributeName()) !== undefined);
  const spec = names.reduce(
    (built, name) => withSpecValue(built, name, given.get(optionOf(name).attributeName())),
    EMPTY_SPEC,
  );
  return { spec: messageOfSpec(spec), paths: names.map((name) => `spec.${name}`) };
}
