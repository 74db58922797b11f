import { describe, expect, it } from 'vitest';
import type { OperationStatus } from '../../../../src/domain/operation/operation-status.ts';
import { OPERATOR_ACTION_NAMES } from '../../../../src/domain/operation/operator-action.ts';
import { whyUnavailable } from './action-verdict.ts';

const on = (
  status: OperationStatus,
  fields: { cancelRequested?: boolean; machineRefuses?: string } = {},
) => ({
  status,
  cancelRequested: false,
  machineRefuses: '',
  ...fields,
});

describe('operator actions on the page', () => {
  it('are those that the server would act on', () => {
    const possible = (status: OperationStatus) =>
      OPERATOR_ACTION_NAMES.filter((action) => whyUnavailable(action, on(status)) === '');
    expect(possible('running')).toEqual(['cancel', 'mark_manual_intervention_required']);
    expect(possible('completed')).toEqual([]);
    expect(possible('cancelled')).toEqual(['rerun', 'restart_clean']);
    expect(possible('failed_retryable')).toEqual(OPERATOR_ACTION_NAMES);
  });

  it('name the available actions instead', () => {
    expect(whyUnavailable('retry_stage', on('cancelled'))).toBe(
      'It is cancelled (canceled by request), so retry-stage is not available. Available actions: rerun, restart-clean.',
    );
    expect(whyUnavailable('resume', on('completed'))).toMatch(/No actions are available\.$/);
    expect(whyUnavailable('resume', on('running'))).toMatch(/there is nothing to resume/);
    expect(whyUnavailable('cancel', on('running', { cancelRequested: true }))).toMatch(/already requested/);
  });

  it('depend on the state of the machine, unless they only end the operation', () => {
    const refused = on('failed_retryable', { machineRefuses: 'm-1 is READY.' });
    expect(whyUnavailable('retry_stage', refused)).toBe('m-1 is READY.');
    expect(whyUnavailable('cancel', refused)).toBe('');
    expect(whyUnavailable('mark_manual_intervention_required', refused)).toBe('');
  });
});
