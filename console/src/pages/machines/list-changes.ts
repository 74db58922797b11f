/**
 * Whether the list is still what its filter and order say. Rows never move under the reader; what would have come, gone
 * or moved is counted, and the reader decides when to see it.
 */
import { EVENT_KINDS, type EventKind } from '../../../../src/domain/event.ts';
import type { FilterNode } from '../../../../src/domain/filter/ast.ts';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { MACHINE_FILTER } from '../../../../src/domain/filter/machine-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { filterPredicate } from '../../../../src/domain/filter/predicate.ts';
import type { Machine } from '../../../../src/domain/machine/machine.ts';

const STATE_KINDS = ['phase', 'condition', 'operation'] as const;
/** What an agent's registration says comes with its presence. */
const AGENT_KINDS = ['machine', 'presence', 'service'] as const;

/** Which events can change a field; one that is missing here can be changed by any. */
const KINDS_OF_FIELD: Readonly<Record<string, readonly EventKind[]>> = {
  machine_id: [],
  created_at: [],
  phase: ['phase'],
  effective_state: STATE_KINDS,
  effective_since: STATE_KINDS,
  service: ['service'],
  service_since: ['service'],
  install: ['install'],
  install_since: ['install'],
  presence: ['presence'],
  pool: AGENT_KINDS,
  schedulable: [...STATE_KINDS, 'service', 'presence'],
  unschedulable_reason: [...STATE_KINDS, 'service', 'presence'],
  provider: ['machine'],
  spec: ['machine'],
  labels: ['machine'],
  active_operation_id: ['operation'],
  conditions: ['condition'],
  attention: ['condition'],
  attention_reason: ['condition'],
};

/** A machine is registered, or leaves the inventory. */
const INVENTORY_KINDS = ['machine', 'service'] as const satisfies readonly EventKind[];
/** How far an operation is, and who has a token, are in no list of machines. */
const NEVER: readonly EventKind[] = ['step', 'progress', 'token'];

export interface ListRules {
  /** Events of these kinds may bring a machine into the list, or take it out. */
  readonly membership: ReadonlySet<string>;
  /** Events of these kinds may move a machine in the list. */
  readonly order: ReadonlySet<string>;
  readonly matches: (machine: Machine) => boolean;
}

/** For a filter that is well. */
export function listRules(filter: string, orderBy: string): ListRules {
  const node = parseFilter(filter);
  const fields = fieldsOf(node);
  const holds = filterPredicate(checkFilter(node, MACHINE_FILTER));
  // As the server has it: what was removed is no part of the inventory, unless the filter asks for it.
  const asksForService = fields.includes('service');
  return {
    membership: new Set([...INVENTORY_KINDS, ...fields.flatMap(kindsOf)]),
    order: new Set(kindsOf(orderBy)),
    matches: (machine) => (asksForService || machine.service !== 'deleted') && holds(machine),
  };
}

function kindsOf(field: string): readonly EventKind[] {
  const [name = ''] = field.split('.');
  const known = Object.hasOwn(KINDS_OF_FIELD, name) ? KINDS_OF_FIELD[name] : undefined;
  return known ?? EVENT_KINDS.filter((kind) => !NEVER.includes(kind));
}

function fieldsOf(node: FilterNode): string[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.terms.flatMap(fieldsOf);
    case 'not':
      return fieldsOf(node.term);
    case 'restriction':
      return [node.path.join('.')];
  }
}

export interface ListEvent {
  readonly kind: string;
  readonly machineId: string;
}

/** Collects what events say of one list. A new list begins with a new one of these. */
export class ListChanges {
  readonly #rules: ListRules;
  readonly #isListed: (id: string) => boolean;
  readonly #changed = new Set<string>();
  readonly #moved = new Set<string>();
  readonly #unsure = new Set<string>();

  constructor(rules: ListRules, isListed: (id: string) => boolean) {
    this.#rules = rules;
    this.#isListed = isListed;
  }

  /** How many machines came, went, or would be elsewhere. */
  get count(): number {
    const moved = [...this.#moved].filter((id) => this.#isListed(id) && !this.#changed.has(id));
    return this.#changed.size + moved.length;
  }

  see(events: readonly ListEvent[]): void {
    for (const { kind, machineId } of events) {
      if (machineId === '') continue;
      if (this.#rules.membership.has(kind)) this.#unsure.add(machineId);
      if (this.#rules.order.has(kind)) this.#moved.add(machineId);
    }
  }

  /** Machines that must be looked at to know, at most so many; they are not named again. */
  takeUnsure(limit: number): string[] {
    const ids = [...this.#unsure].slice(0, limit);
    for (const id of ids) this.#unsure.delete(id);
    return ids;
  }

  /** Null: there is no such machine. One that is again as the list has it counts no more. */
  look(machineId: string, machine: Machine | null): void {
    const belongs = machine !== null && this.#rules.matches(machine);
    if (belongs === this.#isListed(machineId)) this.#changed.delete(machineId);
    else this.#changed.add(machineId);
  }

  /** They could not be looked at: later. */
  putBack(machineIds: readonly string[]): void {
    for (const id of machineIds) this.#unsure.add(id);
  }

  /** Counts anew, by a list that was read later: for when events may have been missed. */
  compare(shown: readonly string[], newer: readonly string[]): void {
    const before = new Set(shown);
    const after = new Set(newer);
    const stayed = shown.filter((id) => after.has(id));
    const inNewOrder = newer.filter((id) => before.has(id));
    const moved = stayed.filter((id, place) => inNewOrder[place] !== id);
    this.#changed.clear();
    this.#moved.clear();
    for (const id of shown) if (!after.has(id)) this.#changed.add(id);
    for (const id of newer) if (!before.has(id)) this.#changed.add(id);
    for (const id of moved) this.#moved.add(id);
  }
}
