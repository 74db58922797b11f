/**
 * A limit says how many machines of each group may be unavailable at once: a disruption budget, which every start obeys, or a
 * limit of one rollout. Which machines count and in which group each is follows from what operators write (labels, spec,
 * pool), never from states: a machine must not leave its group because it was rebooted.
 */
import { parseScope, type Scope, type ScopedMachine } from '../access/scope.ts';
import { Fault, invalidField } from '../error/fault.ts';
import { MACHINE_FILTER, type MachineAttribute } from '../filter/machine-filter.ts';
import type { Machine } from '../machine/machine.ts';
import { checkGroupField } from '../rollout/spec/group-field.ts';
import type { Amount, GroupLimit } from '../rollout/spec/rollout-spec.ts';

export interface Limit {
  /** As refusals name it: "budget racks", "rollout ro-…". Two limits of one name, filter and field share their count. */
  readonly name: string;
  readonly kind: 'budget' | 'rollout';
  /** The machines that count; null: all. */
  readonly members: Scope | null;
  /** Null: all machines are one group. */
  readonly groupBy: GroupField | null;
  readonly maxUnavailable: Amount;
  /** A caller whose scope has all of these may read it. */
  readonly scopeTerms: readonly string[];
}

/** What machines are grouped by. */
export interface GroupField {
  /** As it was written, such as location.rack or labels.role. */
  readonly name: string;
  readonly attribute: MachineAttribute;
  /** Only with the attribute labels. */
  readonly label: string;
}

/** What of a machine decides whether it counts, and where. */
type GroupedMachine = Pick<Machine, 'machineId' | 'labels' | 'spec' | 'pool'>;

const LABEL = 'labels.';

/** Null for the empty name. Throws a fault that names `field`. */
export function groupField(text: string, field: string): GroupField | null {
  if (text === '') return null;
  const name = checkGroupField(text, field);
  if (name.startsWith(LABEL)) return { name, attribute: 'labels', label: name.slice(LABEL.length) };
  const known = MACHINE_FILTER[name];
  if (known?.kind !== 'string') throw invalidField(field, `${name} is no text`);
  return { name, attribute: known.attribute, label: '' };
}

/** Empty for a machine without a value: those are a group of their own. */
export function groupOf(field: GroupField | null, machine: GroupedMachine): string {
  if (field === null) return '';
  if (field.attribute === 'labels') return machine.labels[field.label] ?? '';
  const known = MACHINE_FILTER[field.name];
  return known?.kind === 'string' ? (known.get(machine as Machine) ?? '') : '';
}

export function counts(limit: Limit, machine: ScopedMachine): boolean {
  return limit.members?.contains(machine) ?? true;
}

/** The limits of a rollout as its starts obey them. Throws a fault for a filter or field that is not valid. */
export function limitsOfRollout(rolloutId: string, limits: readonly GroupLimit[]): Limit[] {
  return limits.map(({ filter, groupBy, maxUnavailable }, index) => ({
    name: `rollout ${rolloutId}`,
    kind: 'rollout',
    members: membersOf(filter, `limits[${index}].filter`),
    groupBy: groupField(groupBy, `limits[${index}].group_by`),
    maxUnavailable,
    scopeTerms: [],
  }));
}

/** The machines that a filter contains, for limits. The fault names `field`. */
export function membersOf(filter: string, field: string): Scope | null {
  try {
    return parseScope(filter);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const description = error.violations[0]?.description ?? error.message;
    throw new Fault('INVALID_FILTER', {
      message: `${field}: ${description}`,
      metadata: { field },
      violations: [{ subject: field, description }],
    });
  }
}

/** The group as people read it: "location.rack r42", "location.rack without a value"; empty for the only group. */
export function groupText({ groupBy }: Pick<Limit, 'groupBy'>, group: string): string {
  if (groupBy === null) return '';
  return group === '' ? `no ${groupBy.name}` : `${groupBy.name} ${group}`;
}
