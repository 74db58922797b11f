/** Options that set fields of a machine's spec, made from the table of those fields. */
import { type Command, Option } from 'commander';
import { EMPTY_SPEC, messageOfSpec } from '../../domain/machine/machine-spec.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecFieldName,
  withSpecValue,
} from '../../domain/machine/spec-field.ts';
import { several } from './options.ts';

const HELP = {
  ssh_endpoint: 'where ssh answers',
  bmc_endpoint: 'where the BMC answers',
  target_cluster_ref: 'the Kubernetes cluster that it belongs to',
  mac_addresses: 'a MAC address (may be repeated)',
  provider: 'who drives it (default: that of the label provider, or the default one)',
  customer_id: 'the customer that it serves',
  serial: 'its serial number',
  'location.site': 'the site that it stands in',
  'location.row': 'the row of racks',
  'location.rack': 'the rack',
  'location.unit': 'where in the rack, such as U14',
} as const satisfies Record<SpecFieldName, string>;

function optionOf(name: SpecFieldName): Option {
  const option = new Option(SPEC_FIELDS[name].flag, HELP[name]);
  return name === 'mac_addresses' ? option.argParser(several) : option;
}

export function addSpecOptions(command: Command, names: readonly SpecFieldName[]): Command {
  for (const name of names) command.addOption(optionOf(name));
  return command;
}

/** What the options say, as a message, and the paths that a mask names it by. */
export function specOptions(options: object) {
  const given = new Map(Object.entries(options));
  const names = SPEC_FIELD_NAMES.filter((name) => given.get(optionOf(name).attributeName()) !== undefined);
  const spec = names.reduce(
    (built, name) => withSpecValue(built, name, given.get(optionOf(name).attributeName())),
    EMPTY_SPEC,
  );
  return { spec: messageOfSpec(spec), paths: names.map((name) => `spec.${name}`) };
}
