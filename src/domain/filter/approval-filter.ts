/** What a rule for approvals can ask about: the operation's type, mode, plan and parameters, and every field of its machine. */
import type { Machine } from '../machine/machine.ts';
import type { ApprovalSubject } from '../operation/approval.ts';
import { OPERATION_TYPE_NAMES } from '../operation/operation-type.ts';
import { DECOMMISSION_MODES } from '../workflow/stage.ts';
import {
  type Attribute,
  type FieldSpec,
  type FilterSchema,
  fieldsOf,
  type ReferenceField,
} from './fields.ts';
import { MACHINE_FILTER } from './machine-filter.ts';

const OPERATION_ATTRIBUTES = {
  type: { kind: 'enum', values: OPERATION_TYPE_NAMES, get: ({ type }) => type },
  /** Of a decommission. */
  mode: { kind: 'enum', values: Object.keys(DECOMMISSION_MODES), get: ({ params }) => params.mode },
  plan_id: { kind: 'string', get: ({ planId }) => planId },
  params: { kind: 'map', get: ({ params }) => params },
} as const satisfies Record<string, Attribute<ApprovalSubject>>;

type Read = (machine: Machine, key: string) => unknown;

/** The same field, read from the machine that the operation is for. */
function ofMachine(field: Exclude<FieldSpec<Machine>, ReferenceField>): FieldSpec<ApprovalSubject> {
  const get = field.get as Read;
  return {
    ...field,
    get: ({ machine }: ApprovalSubject, key: string) => get(machine, key),
  } as FieldSpec<ApprovalSubject>;
}

export const APPROVAL_FILTER: FilterSchema<ApprovalSubject> = {
  ...Object.fromEntries(
    Object.entries(MACHINE_FILTER).flatMap(([name, field]) =>
      // A rule is asked in memory, where no reference is known.
      field.kind === 'reference' ? [] : [[name, ofMachine(field)]],
    ),
  ),
  ...fieldsOf<ApprovalSubject, keyof typeof OPERATION_ATTRIBUTES>(OPERATION_ATTRIBUTES),
} as FilterSchema<ApprovalSubject>;
