/** The filters of the list, and how updates are merged into it without moving a row. */
import { allOf, anyOf, equals } from '../../../../src/client/filter-text.ts';
import { ACTIVE_STATUSES } from '../../../../src/domain/operation/operation-status.ts';
import { quoted } from '../../pages.ts';

export const SHOWN = {
  'under-way': {
    text: 'In progress',
    filter: ACTIVE_STATUSES.map((status) => `status = ${status}`).join(' OR '),
  },
  failed: { text: 'Failed', filter: 'phase = FAILED' },
  canceled: { text: 'Canceled', filter: 'phase = CANCELED' },
} as const satisfies Record<string, { text: string; filter: string }>;
export type Shown = keyof typeof SHOWN;

export function isShown(text: string): text is Shown {
  return Object.hasOwn(SHOWN, text);
}

export interface ListView {
  readonly filter: string;
  readonly shown: Shown | null;
  /** Only operations created since then; null: all. */
  readonly since: Date | null;
}

export function askedFilter({ filter, shown, since }: ListView): string {
  return allOf([
    filter.trim(),
    shown === null ? '' : SHOWN[shown].filter,
    since === null ? '' : `created_at >= ${quoted(since.toISOString())}`,
  ]);
}

export function startOfDay(now: number): Date {
  const day = new Date(now);
  day.setHours(0, 0, 0, 0);
  return day;
}

/** The server accepts filters of at most 200 conditions and 4096 characters. */
const IDS_AT_ONCE = 60;

/** Filters that find exactly these operations. */
export function filtersFor(operationIds: readonly string[]): string[] {
  const filters: string[] = [];
  for (let from = 0; from < operationIds.length; from += IDS_AT_ONCE) {
    const ids = operationIds.slice(from, from + IDS_AT_ONCE);
    filters.push(anyOf(ids.map((id) => equals('operation_id', id))));
  }
  return filters;
}

interface Identified {
  readonly operationId: string;
}

/** The same rows in the same order, with fresh versions where there are any. */
export function patched<T extends Identified, P extends { operations: T[] }>(
  pages: readonly P[],
  fresh: readonly T[],
): P[] {
  const byId = new Map(fresh.map((operation) => [operation.operationId, operation]));
  return pages.map((page) =>
    page.operations.some(({ operationId }) => byId.has(operationId))
      ? {
          ...page,
          operations: page.operations.map((operation) => byId.get(operation.operationId) ?? operation),
        }
      : page,
  );
}

/** Pages are cut by position: after new rows were added, the next page can repeat rows of the previous one. */
export function withoutRepeats<T extends Identified>(operations: readonly T[]): T[] {
  const seen = new Set<string>();
  return operations.filter(({ operationId }) => {
    if (seen.has(operationId)) return false;
    seen.add(operationId);
    return true;
  });
}
