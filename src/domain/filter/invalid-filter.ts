import { Fault } from '../error/fault.ts';

export interface FilterProblem {
  readonly problem: string;
  /** Counts from 0; the message counts from 1. */
  readonly offset: number;
  /** The known name that is most like what the caller wrote; null: none is. */
  readonly meant?: string | null;
  /** What would have been right. */
  readonly expected?: string;
}

export function invalidFilter({ problem, offset, meant, expected }: FilterProblem): Fault {
  const position = String(offset + 1);
  const question = meant ? `, did you mean ${meant}?` : '';
  const remedy = expected === undefined ? '' : `${meant ? ' Expected' : ', expected'} ${expected}`;
  const description = `${problem} at position ${position}${question}${remedy}`;
  return new Fault('INVALID_FILTER', {
    message: `filter: ${description}`,
    metadata: { field: 'filter', position },
    violations: [{ subject: 'filter', description }],
  });
}

const QUOTED_AT_MOST = 60;

/** Repeats the start of what the caller wrote. */
export function quoted(text: string): string {
  return text.length > QUOTED_AT_MOST ? `'${text.slice(0, QUOTED_AT_MOST)}…'` : `'${text}'`;
}
