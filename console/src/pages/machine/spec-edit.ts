/**
 * Editing a machine's spec and labels. Only changed paths are sent, in the update mask, so that two users who change
 * different fields do not overwrite each other. Changes by others since the editor was opened are listed by path.
 */
import { Fault } from '../../../../src/domain/error/fault.ts';
import type { Labels, MachineSpec } from '../../../../src/domain/machine/machine.ts';
import { checkLabels } from '../../../../src/domain/machine/machine-input.ts';
import { EMPTY_SPEC } from '../../../../src/domain/machine/spec/machine-spec.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecField,
  type SpecFieldName,
} from '../../../../src/domain/machine/spec/spec-field.ts';
import { checkField } from '../../../../src/domain/machine/spec/spec-input.ts';
import {
  type SpecValue,
  specText,
  specValue,
  withSpecValue,
} from '../../../../src/domain/machine/spec/spec-value.ts';

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

/** The text of the form. */
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
    // An empty row is not a label.
    labels: Object.fromEntries(
      labels
        .filter(({ name, value }) => name.trim() !== '' || value !== '')
        .map(({ name, value }) => [name.trim(), value]),
    ),
  };
}

/** Every path with its value as text. */
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

/** The update mask: the paths that differ. */
export function changedPaths(before: Description, after: Description): string[] {
  const [old, now] = [flat(before), flat(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((path) => old.get(path) !== now.get(path));
}

export interface ConcurrentChange {
  readonly path: string;
  /** Undefined: the path does not exist. */
  readonly before: string | undefined;
  readonly now: string | undefined;
  /** The user has edited it too, to another value: saving would overwrite the change. */
  readonly overwritten: boolean;
}

/** What others changed since the editor was opened. */
export function concurrentChanges(
  base: Description,
  current: Description,
  edited: Description,
): ConcurrentChange[] {
  const [before, now, mine] = [flat(base), flat(current), flat(edited)];
  return changedPaths(base, current).map((path) => ({
    path,
    before: before.get(path),
    now: now.get(path),
    overwritten: mine.get(path) !== before.get(path) && mine.get(path) !== now.get(path),
  }));
}

/** Accepts the changes by others, and keeps the user's other edits. */
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

/** By path, what the server would reject. The server checks more than this. */
export function faultsOf(draft: Draft): Map<string, string> {
  const { spec } = descriptionOf(draft);
  const faults = new Map<string, string>();
  // Only the server knows which providers are configured, and the addresses that are stored already.
  const context = { providers: new Set([spec.provider]), storedMacs: [] };
  for (const name of SPEC_FIELD_NAMES) {
    collectFaults(faults, `spec.${name}`, () => checkField(name, specValue(spec, name), context));
  }
  const named = draft.labels.filter(({ name, value }) => name.trim() !== '' || value !== '');
  for (const { name, value } of named) {
    const path = `labels.${name.trim()}`;
    if (named.filter((row) => row.name.trim() === name.trim()).length > 1) faults.set(path, 'is a duplicate');
    else collectFaults(faults, path, () => checkLabels({ [name.trim()]: value }));
  }
  if (faults.size === 0) collectFaults(faults, 'labels', () => checkLabels(descriptionOf(draft).labels));
  return faults;
}

function collectFaults(faults: Map<string, string>, path: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.set(path, error.violations.map(({ description }) => description).join('; '));
  }
}

/** The path of the field that a violation in the server's response belongs to. */
export function faultPath(field: string): string {
  return field.replace(/^machine\./, '').replace(/\[\d+\]$/, '');
}
