/** The summary of a machine's hardware in SQL. Indexes have the same expressions. */
import {
  HARDWARE_FIELD_NAMES,
  HARDWARE_FIELDS,
  type HardwareField,
  type HardwareFilterName,
} from '../../domain/hardware/hardware-summary.ts';

function hardwareColumn(name: HardwareField): string {
  const text = `(hardware ->> '${name}')`;
  return HARDWARE_FIELDS[name].kind === 'number' ? `(${text}::bigint)` : text;
}

export const HARDWARE_COLUMNS = Object.fromEntries(
  HARDWARE_FIELD_NAMES.map((name) => [HARDWARE_FIELDS[name].filter, hardwareColumn(name)]),
) as Readonly<Record<HardwareFilterName, string>>;

/** As text, for counts. */
export const COUNTED_HARDWARE_COLUMNS = Object.fromEntries(
  HARDWARE_FIELD_NAMES.map((name) => [HARDWARE_FIELDS[name].filter, `(hardware ->> '${name}')`]),
) as Readonly<Record<HardwareFilterName, string>>;
