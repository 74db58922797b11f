import { describe, expect, it } from 'vitest';
import { whyNoAction } from '../../console/src/pages/operation/action-verdict.ts';
import { actionLine, shellWord, startLine } from '../../console/src/pages/operation/command-lines.ts';
import type { OperationStatus } from '../../src/domain/operation/operation-status.ts';
import { OPERATOR_ACTION_NAMES } from '../../src/domain/operation/operator-action.ts';

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

describe('commands that do the same', () => {
  it('start the same work again', () => {
    const machineId = 'm-1';
    const work = { machineId, planId: '', params: {} };
    expect(startLine({ ...work, type: 'REIMAGE', params: { image_ref: 'ubuntu-2204' } })).toBe(
      'ingot reimage m-1 --image ubuntu-2204',
    );
    expect(startLine({ ...work, type: 'ENTER_MAINTENANCE' })).toBe('ingot enter-maintenance m-1');
    expect(startLine({ ...work, type: 'ONBOARD', params: { pool: 'p' } })).toBe('ingot onboard m-1 --pool p');
    expect(startLine({ ...work, type: 'REIMAGE', planId: 'default-repave' })).toBe(
      'ingot run start m-1 --type REPAVE --plan default-repave',
    );
  });

  it('are safe to paste, whatever somebody typed', () => {
    expect(shellWord("it's $(rm) `x`")).toBe(`'it'\\''s $(rm) \`x\`'`);
    expect(actionLine('retry_stage', 'op-1', 'disk was replaced')).toBe(
      "ingot op retry-stage op-1 --reason 'disk was replaced'",
    );
  });
});
