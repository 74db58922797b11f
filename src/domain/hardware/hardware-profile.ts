/**
 * What machines must have. A profile is for the machines that its filter finds, by SKU, by label or by anything else; what it expects are
 * comparisons of hardware fields in the same language. Every profile that applies to a machine counts.
 */
import { parseScope, type Scope } from '../access/scope.ts';
import type { ConditionChange } from '../condition/condition.ts';
import { Fault, invalidField, missingField } from '../error/fault.ts';
import { checkFilter } from '../filter/check.ts';
import type { CheckedFilter } from '../filter/checked-filter.ts';
import { MACHINE_FILTER } from '../filter/machine-filter.ts';
import { parseFilter } from '../filter/parse.ts';
import { filterPredicate, type Predicate } from '../filter/predicate.ts';
import type { Machine } from '../machine/machine.ts';
import { HARDWARE_FIELD_NAMES, HARDWARE_FIELDS, type HardwareField } from './hardware-summary.ts';

export interface ProfileRule {
  readonly name: string;
  readonly description: string;
  readonly match: string;
  readonly expect: readonly string[];
}

interface Expectation {
  readonly text: string;
  readonly field: HardwareField;
  readonly holds: Predicate<Machine>;
}

export interface HardwareProfile extends ProfileRule {
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly appliesTo: Predicate<Machine>;
  readonly expectations: readonly Expectation[];
}

const NAME_RULE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const MAX_EXPECTATIONS = 50;
const MAX_TEXT = 500;
const MAX_DESCRIPTION = 200;

/** Throws a Fault that names the field. */
export function checkProfileRule(given: ProfileRule): ProfileRule {
  const { name, description } = given;
  const [match, expect] = [given.match.trim(), given.expect.map((text) => text.trim())];
  if (!NAME_RULE.test(name))
    throw invalidField('profile.name', 'must be 1 to 63 letters, digits, ".", "_" or "-"');
  if (description.length > MAX_DESCRIPTION)
    throw invalidField('profile.description', `must be at most ${MAX_DESCRIPTION} characters`);
  if (match === '') throw missingField('profile.match');
  if (expect.length === 0) throw missingField('profile.expect');
  if (expect.length > MAX_EXPECTATIONS)
    throw invalidField('profile.expect', `must be at most ${MAX_EXPECTATIONS}`);
  if ([match, ...expect].some((text) => text.length > MAX_TEXT))
    throw invalidField('profile', `texts must be at most ${MAX_TEXT} characters`);
  inField('profile.match', () => checkedFilter(match));
  for (const [index, text] of expect.entries())
    inField(`profile.expect[${index}]`, () => expectationOf(text));
  return { name, description, match, expect };
}

function inField(field: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw error instanceof Fault ? invalidField(field, error.message) : error;
  }
}

/** A stored profile, ready to be applied. `scope`: only machines inside it. */
export function profileOf(
  rule: ProfileRule,
  {
    scope,
    createdBy,
    createdAt,
  }: { readonly scope: string; readonly createdBy: string; readonly createdAt: Date },
): HardwareProfile {
  const within: Scope | null = parseScope(scope);
  const matches = filterPredicate(checkedFilter(rule.match));
  return {
    ...rule,
    createdBy,
    createdAt,
    appliesTo: (machine) => (within?.contains(machine) ?? true) && matches(machine),
    expectations: rule.expect.map(expectationOf),
  };
}

function checkedFilter(text: string): CheckedFilter<Machine> {
  return checkFilter(parseFilter(text), MACHINE_FILTER);
}

function expectationOf(text: string): Expectation {
  const filter = checkedFilter(text);
  const test = filter.kind === 'not' ? filter.term : filter;
  const attribute = 'field' in test ? test.field.attribute : '';
  const field = HARDWARE_FIELD_NAMES.find((name) => HARDWARE_FIELDS[name].filter === attribute);
  if (field === undefined)
    throw invalidField('expect', 'must be one comparison of a hardware field, such as hardware.gpu.count=8');
  return { text, field, holds: filterPredicate(filter) };
}

export interface HardwareVerdict {
  /** The profiles that apply. */
  readonly profiles: readonly string[];
  /** How the machine differs from them, as sentences. */
  readonly differences: readonly string[];
}

export function judgeHardware(machine: Machine, profiles: readonly HardwareProfile[]): HardwareVerdict {
  const applied = profiles.filter(({ appliesTo }) => appliesTo(machine));
  return {
    profiles: applied.map(({ name }) => name),
    differences: applied.flatMap(({ name, expectations }) =>
      expectations
        .filter(({ holds }) => !holds(machine))
        .map(({ text, field }) => `${name} expects ${text}, found ${foundText(machine, field)}`),
    ),
  };
}

function foundText({ hardware }: Machine, field: HardwareField): string {
  const value = hardware?.[field];
  return value === undefined ? 'nothing' : typeof value === 'number' ? String(value) : JSON.stringify(value);
}

const HARDWARE_MISMATCH = 'HardwareMismatch';
const MAX_DIFFERENCES = 10;

/** What the verdict makes of Degraded; null: nothing. A machine of which nothing is known is not called degraded. */
export function degradedBy(machine: Machine, { differences }: HardwareVerdict): ConditionChange | null {
  const before = machine.conditions.Degraded;
  const isRaised = before?.status === true && before.reason === HARDWARE_MISMATCH;
  const isFlagged = machine.conditions.RMA?.status === true || machine.conditions.Retired?.status === true;
  if (differences.length === 0 || machine.hardware === null || isFlagged)
    return isRaised
      ? { type: 'Degraded', status: false, reason: 'HardwareMatches', message: 'the hardware is as expected' }
      : null;
  const more = differences.length - MAX_DIFFERENCES;
  const message = [...differences.slice(0, MAX_DIFFERENCES), ...(more > 0 ? [`${more} more`] : [])].join(
    '; ',
  );
  if (isRaised && before.message === message) return null;
  return { type: 'Degraded', status: true, reason: HARDWARE_MISMATCH, message };
}
