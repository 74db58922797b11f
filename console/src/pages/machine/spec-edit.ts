/**
 * Editing what clients say of a machine. Only what was changed is sent, by the paths of the update mask, so two people
 * who change different things do not undo each other; what changed under the editor is told, path by path.
 */
import { Fault } from '../../../../src/domain/error/fault.ts';
import type { Labels, MachineSpec } from '../../../../src/domain/machine/machine.ts';
import { checkLabels } from '../../../../src/domain/machine/machine-input.ts';
import { EMPTY_SPEC } from '../../../../src/domain/machine/machine-spec.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecField,
  type SpecFieldName,
} from '../../../../src/domain/machine/spec-field.ts';
import { checkField } from '../../../../src/domain/machine/spec-input.ts';
import {
  type SpecValue,
  specText,
  specValue,
  withSpecValue,
} from '../../../../src/domain/machine/spec-value.ts';

export interface Description {
  readonly spec: MachineSpec;
  readonly labels: Labels;
}

export interface LabelRow {
  /** Stays the same while the name is typed. */
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

/** As it is typed. */
export interface Draft {
  readonly spec: Readonly<Record<SpecFieldName, string>>;
  readonly labels: readonly LabelRow[];
}

export function draftOf({ spec, labels }: Description): Draft {
  const texts = SPEC_FIELD_NAMES.map((name) => [name, specText(spec, name)]);
  return {
    spec: Object.fromEntries(texts),
    labels: Object.entries(labels)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, value], id) => ({ id, name, value })),
  };
}

function read(name: SpecFieldName, text: string): SpecValue {
  if (SPEC_FIELDS[name].type === 'text') return text.trim();
  return text.split(/[\s,]+/).filter((item) => item !== '');
}

export function descriptionOf(draft: Draft): Description {
  const { spec, labels } = draft;
  return {
    spec: SPEC_FIELD_NAMES.reduce(
      (built, name) => withSpecValue(built, name, read(name, spec[name])),
      EMPTY_SPEC,
    ),
    // A row that nobody has begun to fill in is no label.
    labels: Object.fromEntries(
      labels
        .filter(({ name, value }) => name.trim() !== '' || value !== '')
        .map(({ name, value }) => [name.trim(), value]),
    ),
  };
}

/** Every path with its value as text; what is not there has none. */
function flat({ spec, labels }: Description): Map<string, string> {
  const paths = SPEC_FIELD_NAMES.map((name): [string, string] => [`spec.${name}`, spelled(spec, name)]);
  return new Map([
    ...paths,
    ...Object.entries(labels).map(([name, value]): [string, string] => [`labels.${name}`, value]),
  ]);
}

function spelled(spec: MachineSpec, name: SpecFieldName): string {
  const field: SpecField = SPEC_FIELDS[name];
  if (field.type === 'text') return specText(spec, name);
  return specText(withSpecValue(spec, name, [...specValue(spec, name)].map(field.spelling)), name);
}

/** The mask: what differs. */
export function changedPaths(before: Description, after: Description): string[] {
  const [old, now] = [flat(before), flat(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((path) => old.get(path) !== now.get(path));
}

export interface ChangeUnder {
  readonly path: string;
  /** Undefined: it was not there, or is not any more. */
  readonly before: string | undefined;
  readonly now: string | undefined;
  /** The editor has changed it too, to something else: saving would overwrite it. */
  readonly overwritten: boolean;
}

/** What others changed since the editor was opened. */
export function changesUnder(base: Description, current: Description, edited: Description): ChangeUnder[] {
  const [before, now, mine] = [flat(base), flat(current), flat(edited)];
  return changedPaths(base, current).map((path) => ({
    path,
    before: before.get(path),
    now: now.get(path),
    overwritten: mine.get(path) !== before.get(path) && mine.get(path) !== now.get(path),
  }));
}

/** Takes over what others changed, and keeps what was edited besides. */
export function rebase(base: Description, current: Description, edited: Description): Description {
  const paths = changedPaths(base, edited);
  const theirs = new Set(changedPaths(base, current));
  const mine = paths.filter((path) => !theirs.has(path));
  const labels: Record<string, string> = { ...current.labels };
  let { spec } = current;
  for (const path of mine) {
    const name = path.slice(path.indexOf('.') + 1);
    const value = edited.labels[name];
    if (path.startsWith('spec.')) {
      const field = name as SpecFieldName;
      spec = withSpecValue(spec, field, specValue(edited.spec, field));
    } else if (value === undefined) delete labels[name];
    else labels[name] = value;
  }
  return { spec, labels };
}

/** By path, what the server would refuse. It knows more than this, and decides again. */
export function faultsOf(draft: Draft): Map<string, string> {
  const { spec } = descriptionOf(draft);
  const faults = new Map<string, string>();
  // Only the server knows which providers are configured, and the addresses that are stored already.
  const context = { providers: new Set([spec.provider]), storedMacs: [] };
  for (const name of SPEC_FIELD_NAMES) {
    tell(faults, `spec.${name}`, () => checkField(name, specValue(spec, name), context));
  }
  const named = draft.labels.filter(({ name, value }) => name.trim() !== '' || value !== '');
  for (const { name, value } of named) {
    const path = `labels.${name.trim()}`;
    if (named.filter((row) => row.name.trim() === name.trim()).length > 1) faults.set(path, 'is there twice');
    else tell(faults, path, () => checkLabels({ [name.trim()]: value }));
  }
  if (faults.size === 0) tell(faults, 'labels', () => checkLabels(descriptionOf(draft).labels));
  return faults;
}

function tell(faults: Map<string, string>, path: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.set(path, error.violations.map(({ description }) => description).join('; '));
  }
}

/** Where the server's own answer belongs: a field of a list or message belongs to its field. */
export function faultPath(field: string): string {
  return field.replace(/^machine\./, '').replace(/\[\d+\]$/, '');
}
