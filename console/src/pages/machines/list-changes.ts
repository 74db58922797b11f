/**
 * Counts how far the list is out of date. Rows never move while they are read: machines that would be added, removed or
 * moved are counted, and the user decides when to refresh.
 */
import { EVENT_KINDS, type EventKind } from '../../../../src/domain/event.ts';
import type { FilterNode } from '../../../../src/domain/filter/ast.ts';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { MACHINE_FILTER } from '../../../../src/domain/filter/machine-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { filterPredicate } from '../../../../src/domain/filter/predicate.ts';
import type { Machine } from '../../../../src/domain/machine/machine.ts';

const STATE_KINDS = ['phase', 'condition', 'operation'] as const;
/** An agent's registration changes its presence too. */
const AGENT_KINDS = ['machine', 'presence', 'service'] as const;

/** Which events can change a field. A field that is missing here can be changed by any event. */
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
  available: [...STATE_KINDS, 'service', 'presence'],
  unavailable_reason: [...STATE_KINDS, 'service', 'presence'],
  provider: ['machine'],
  spec: ['machine'],
  labels: ['machine'],
  active_operation_id: ['operation'],
  rollout: [],
  conditions: ['condition'],
  attention: ['condition'],
  attention_reason: ['condition'],
};

/** A machine is registered or removed. */
const INVENTORY_KINDS = ['machine', 'service'] as const satisfies readonly EventKind[];
/** No list of machines depends on the progress of operations or on tokens. */
const NEVER: readonly EventKind[] = ['step', 'progress', 'token'];

export interface ListRules {
  /** Events of these kinds may add a machine to the list, or remove it. */
  readonly membership: ReadonlySet<string>;
  /** Events of these kinds may move a machine in the list. */
  readonly order: ReadonlySet<string>;
  readonly matches: (machine: Machine) => boolean;
}

/** The filter must be valid. */
export function listRules(filter: string, orderBy: readonly string[]): ListRules {
  const node = parseFilter(filter);
  const fields = fieldsOf(node);
  const holds = filterPredicate(checkFilter(node, MACHINE_FILTER));
  // Same rule as the server's: removed machines are not listed, unless the filter asks for them.
  const asksForService = fields.includes('service');
  return {
    membership: new Set([...INVENTORY_KINDS, ...fields.flatMap(kindsOf)]),
    order: new Set(orderBy.filter((field) => field !== '').flatMap(kindsOf)),
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

/** The changes to one list since it was read. Each new list starts with a new instance. */
export class ListChanges {
  readonly #rules: ListRules;
  readonly #isListed: (id: string) => boolean;
  readonly #changed = new Set<string>();
  readonly #moved = new Set<string>();
  readonly #unchecked = new Set<string>();

  constructor(rules: ListRules, isListed: (id: string) => boolean) {
    this.#rules = rules;
    this.#isListed = isListed;
  }

  /** How many machines would be added, removed or moved by a refresh. */
  get count(): number {
    const moved = [...this.#moved].filter((id) => this.#isListed(id) && !this.#changed.has(id));
    return this.#changed.size + moved.length;
  }

  onEvents(events: readonly ListEvent[]): void {
    for (const { kind, machineId } of events) {
      if (machineId === '') continue;
      if (this.#rules.membership.has(kind)) this.#unchecked.add(machineId);
      if (this.#rules.order.has(kind)) this.#moved.add(machineId);
    }
  }

  /** Takes machines that have to be read and passed to `check`, at most `limit`. */
  takeUnchecked(limit: number): string[] {
    const ids = [...this.#unchecked].slice(0, limit);
    for (const id of ids) this.#unchecked.delete(id);
    return ids;
  }

  /** Compares a machine with the list. Null: it does not exist. A machine that matches the list again is not counted. */
  check(machineId: string, machine: Machine | null): void {
    const belongs = machine !== null && this.#rules.matches(machine);
    if (belongs === this.#isListed(machineId)) this.#changed.delete(machineId);
    else this.#changed.add(machineId);
  }

  /** Puts back machines that could not be read. */
  putBack(machineIds: readonly string[]): void {
    for (const id of machineIds) this.#unchecked.add(id);
  }

  /** Counts again by comparing with a newer list, after events may have been missed. */
  compare(shown: readonly string[], newer: readonly string[]): void {
    const before = new Set(shown);
    const after = new Set(newer);
    const stayed = shown.filter((id) => after.has(id));
    const inNewOrder = newer.filter((id) => before.has(id));
    const moved = stayed.filter((id, index) => inNewOrder[index] !== id);
    this.#changed.clear();
    this.#moved.clear();
    for (const id of shown) if (!after.has(id)) this.#changed.add(id);
    for (const id of newer) if (!before.has(id)) this.#changed.add(id);
    for (const id of moved) this.#moved.add(id);
  }
}
