/** The SQL of each attribute that operations can be filtered by. */
import type { OperationAttributes } from '../../domain/filter/operation-filter.ts';
import type { FilterColumns } from './filter-columns.ts';

export const OPERATION_FILTER_COLUMNS = {
  operation_id: 'operation_id',
  machine_id: 'machine_id',
  request_id: 'request_id',
  type: 'type',
  phase: 'ingot_operation_phase(status)',
  status: 'status',
  plan_id: 'plan_id',
  rollout_id: 'rollout_id',
  current_step: `(CASE WHEN status IN ('pending', 'running', 'compensating') AND steps -> current ->> 'state' <> 'waiting'
      THEN steps -> current ->> 'name' END)`,
  params: 'params',
  'error.code': `(error ->> 'code')`,
  approval: `(approval ->> 'state')`,
  cancel_requested: 'cancel_requested',
  started_by: 'started_by',
  created_at: 'created_at',
  started_at: 'started_at',
  finished_at: 'finished_at',
  run_type: `(CASE type WHEN 'REIMAGE' THEN 'REPAVE' ELSE type END)`,
} as const satisfies FilterColumns<OperationAttributes>;
