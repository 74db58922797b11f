/** Values that a shell offers for an option, which the option itself takes in further forms: its help does not list them. */
import type { Option } from 'commander';

const offered = new WeakMap<Option, readonly string[]>();

export function offering(option: Option, values: readonly string[]): Option {
  offered.set(option, values);
  return option;
}

export function offeredValues(option: Option): readonly string[] {
  return option.argChoices ?? offered.get(option) ?? [];
}
