/**
 * A list of machines as people have them: one id in each line, or the rows of a spreadsheet with a head that names the fields.
 * Columns are separated by commas, semicolons or tabs; a value with one of these is in double quotes.
 */
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecFieldName,
} from '../../../../src/domain/machine/spec/spec-field.ts';
import {
  type Description,
  type Draft,
  descriptionOf,
  faultsOf,
  type LabelRow,
} from '../machine/spec-edit.ts';

export interface ListedMachine {
  /** Of the text, from 1. */
  readonly line: number;
  readonly machineId: string;
  readonly description: Description;
  /** Empty: none. */
  readonly fault: string;
}

export interface MachineListText {
  readonly machines: readonly ListedMachine[];
  /** What is wrong with the list as a whole; empty: nothing is. */
  readonly fault: string;
}

const ID = 'machine_id';
const LABEL = /^labels?\.(.+)$/;

export function readMachineList(text: string): MachineListText {
  const lines = text.split(/\r?\n/).map((content, index) => ({ content, line: index + 1 }));
  const filled = lines.filter(({ content }) => content.trim() !== '' && !content.trim().startsWith('#'));
  const [first] = filled;
  if (!first) return { machines: [], fault: '' };
  const separator = separatorOf(first.content);
  const head = cellsOf(first.content, separator);
  const hasHead = head.includes(ID);
  const columns = hasHead ? head : [ID];
  const unknown = columns.find(
    (name) => name !== ID && !Object.hasOwn(SPEC_FIELDS, name) && !LABEL.test(name),
  );
  if (unknown !== undefined) {
    const known = [ID, ...SPEC_FIELD_NAMES, 'labels.<name>'].join(', ');
    return { machines: [], fault: `${unknown} is no field. Fields are ${known}.` };
  }
  if (!hasHead && separator !== '' && filled.some(({ content }) => cellsOf(content, separator).length > 1))
    return { machines: [], fault: `Name the columns in the first line, one of them ${ID}.` };
  const rows = (hasHead ? filled.slice(1) : filled).map(({ content, line }) =>
    machineOf(line, columns, cellsOf(content, separator)),
  );
  return { machines: withRepeated(rows), fault: '' };
}

function separatorOf(head: string): string {
  return ['\t', ';', ','].find((separator) => head.includes(separator)) ?? '';
}

function cellsOf(line: string, separator: string): string[] {
  if (separator === '') return [line.trim()];
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (const letter of line) {
    if (letter === '"') isQuoted = !isQuoted;
    else if (letter === separator && !isQuoted) {
      cells.push(cell.trim());
      cell = '';
    } else cell += letter;
  }
  return [...cells, cell.trim()];
}

function machineOf(line: number, columns: readonly string[], cells: readonly string[]): ListedMachine {
  const cellOf = (name: string) => cells[columns.indexOf(name)] ?? '';
  const spec = Object.fromEntries(
    SPEC_FIELD_NAMES.map((name) => [name, columns.includes(name) ? cellOf(name) : '']),
  ) as Record<SpecFieldName, string>;
  const labels = columns.flatMap((column, id): LabelRow[] => {
    const [, name] = LABEL.exec(column) ?? [];
    const value = cells[id] ?? '';
    return name === undefined || value === '' ? [] : [{ id, name, value }];
  });
  const draft: Draft = { spec, labels };
  const [fault] = [...faultsOf(draft)].map(([path, text]) => `${path.replace(/^spec\./, '')}: ${text}`);
  const machineId = cellOf(ID);
  const extra =
    cells.length > columns.length ? `has ${cells.length} columns, the head ${columns.length}` : '';
  return {
    ...{ line, machineId, description: descriptionOf(draft) },
    fault: machineId === '' ? `${ID}: is missing` : extra || (fault ?? ''),
  };
}

/** A machine that is there twice is wrong the second time. */
function withRepeated(machines: readonly ListedMachine[]): ListedMachine[] {
  const first = new Map<string, number>();
  return machines.map((machine) => {
    const { machineId, line, fault } = machine;
    const before = first.get(machineId);
    if (before === undefined) first.set(machineId, line);
    return before === undefined || fault !== ''
      ? machine
      : { ...machine, fault: `${machineId} is in line ${before} already` };
  });
}
