/** Amounts of machines as people write them: a number, or a percentage, such as 20 or 10%. */
import { invalidField } from '../../error/fault.ts';
import type { Amount } from './rollout-spec.ts';

const MAX_COUNT = 1_000_000;

/** `least` is what is still an amount here: 0 where nothing at all is one. */
export function readAmount(text: string, field: string, least: 0 | 1): Amount {
  const [, number, percent] = /^\s*(\d{1,9}(?:\.\d{1,3})?)\s*(%?)\s*$/.exec(text) ?? [];
  const value = Number(number);
  if (number === undefined || (percent === '' && !Number.isInteger(value)))
    throw invalidField(field, 'must be a number or a percentage, such as 20 or 10%');
  if (percent === '%') {
    if (value > 100) throw invalidField(field, 'must be at most 100%');
    if (value === 0 && least > 0) throw invalidField(field, 'must be more than 0%');
    return { percent: value };
  }
  if (value < least) throw invalidField(field, `must be at least ${least}`);
  if (value > MAX_COUNT) throw invalidField(field, `must be at most ${MAX_COUNT}`);
  return { count: value };
}

export function amountText(amount: Amount): string {
  return 'count' in amount ? String(amount.count) : `${amount.percent}%`;
}
