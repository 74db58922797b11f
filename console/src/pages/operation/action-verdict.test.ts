import { describe, expect, it } from 'vitest';
import type { OperationStatus } from '../../../../src/domain/operation/operation-status.ts';
import { OPERATOR_ACTION_NAMES } from '../../../../src/domain/operation/operator-action.ts';
import { whyNoAction } from './action-verdict.ts';

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
      OPERATOR_ACTION_NAMES.filter((action) => whyNoAction(action, on(status)) === '');
    expect(possible('running')).toEqual(['cancel', 'mark_manual_intervention_required']);
    expect(possible('completed')).toEqual([]);
    expect(possible('cancelled')).toEqual(['rerun', 'restart_clean']);
    expect(possible('failed_retryable')).toEqual(OPERATOR_ACTION_NAMES);
  });

  it('say what can be done instead', () => {
    expect(whyNoAction('retry_stage', on('cancelled'))).toBe(
      'It is cancelled (stopped because somebody asked), which retry-stage can’t change. Possible: rerun, restart-clean.',
    );
    expect(whyNoAction('resume', on('completed'))).toMatch(/Nothing more can be done to it\.$/);
    expect(whyNoAction('resume', on('running'))).toMatch(/there is nothing to resume/);
    expect(whyNoAction('cancel', on('running', { cancelRequested: true }))).toMatch(/asked for this already/);
  });

  it('heed what the machine takes, unless they only end the operation', () => {
    const refused = on('failed_retryable', { machineRefuses: 'm-1 is READY.' });
    expect(whyNoAction('retry_stage', refused)).toBe('m-1 is READY.');
    expect(whyNoAction('cancel', refused)).toBe('');
    expect(whyNoAction('mark_manual_intervention_required', refused)).toBe('');
  });
});
