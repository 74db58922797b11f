/** The SQL of each attribute that rollouts, and the machines of one, can be filtered by. */
import type { RolloutAttributes, RolloutMachineAttributes } from '../../domain/filter/rollout-filter.ts';
import type { FilterColumns } from './filter-columns.ts';

export const ROLLOUT_FILTER_COLUMNS = {
  rollout_id: 'rollout_id',
  name: 'name',
  state: 'state',
  created_by: 'created_by',
  rolls_back: 'rolls_back',
  created_at: 'created_at',
  started_at: 'started_at',
  finished_at: 'finished_at',
  machine_id: (id: string) =>
    `rollout_id IN (SELECT m.rollout_id FROM rollout_machines m WHERE m.machine_id = ${id})`,
} as const satisfies FilterColumns<RolloutAttributes>;

export const ROLLOUT_MACHINE_FILTER_COLUMNS = {
  machine_id: 'machine_id',
  state: 'state',
  wave: 'wave',
  step: '(step + 1)',
  attempts: '(CASE WHEN started_at IS NULL THEN 0 ELSE attempt END)',
  error_code: 'error_code',
} as const satisfies FilterColumns<RolloutMachineAttributes>;
