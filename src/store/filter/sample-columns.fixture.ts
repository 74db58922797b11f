import type { SampleAttributes } from '../../domain/filter/sample-filter.fixture.ts';
import type { FilterColumns } from './filter-columns.ts';

export const SAMPLE_COLUMNS = {
  name: 'name',
  phase: 'phase',
  'status.seen_at': 'seen_at',
  attempts: 'attempts',
  ready: 'ready',
  pools: 'pools',
  labels: 'labels',
  conditions: (key: string) => `(conditions ->> '${key}')::boolean`,
} as const satisfies FilterColumns<SampleAttributes>;
