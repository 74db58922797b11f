import { describe, expect, it } from 'vitest';
import type { FailureClass } from '../error/failure-class.ts';
import { FAILURE_CODES, FAILURE_GROUPS, FAILURES } from '../error/failure-code.ts';
import { type Advisable, commandFor, nextActionFor } from './next-action.ts';
import { isActive, type OperationStatus, operationLifecycle } from './operation-status.ts';
import { OPERATOR_ACTIONS, VERDICTS } from './operator-action.ts';

const FAILED = ['failed_retryable', 'failed_manual_intervention'] as const;

function ended(
  status: OperationStatus,
  error: Advisable['error'] = null,
  cancelRequested = false,
): Advisable {
  return { status, error, cancelRequested };
}

function failed(code: string, failureClass: FailureClass = 'needs_human'): Advisable {
  return ended('failed_manual_intervention', { code, failureClass });
}

describe('the next action', () => {
  const statuses = Object.keys(operationLifecycle.states) as OperationStatus[];

  it.each(statuses.filter((status) => !status.startsWith('failed')))('of one that is %s', (status) => {
    const { action, next } = nextActionFor(ended(status));
    expect(action).toBe(status === 'cancelled' ? 'rerun' : null);
    expect(next).toContain(isActive(status) ? 'wait' : 'nothing');
  });

  it.each(FAILURE_CODES)(
    'of %s is that of its row, and may be done in both statuses of a failure',
    (code) => {
      const row = FAILURES[code];
      const next = nextActionFor(failed(code));
      expect(next).toMatchObject(row);
      expect(next.advice).toBe(`${row.check}; then ${OPERATOR_ACTIONS[row.action].advice}`);
      for (const status of FAILED) expect(VERDICTS[row.action][status]).toBe('act');
      expect(commandFor('op-1', next)).toBe(`op ${OPERATOR_ACTIONS[row.action].verb} op-1 --reason "…"`);
    },
  );

  it.each([
    ['MACHINE_GONE', 'rerun'],
    ['DEPLOYMENT_FAILED', 'rerun'],
    ['PXE_NOT_FIXABLE', 'retry_stage'],
    ['DATASOURCE_FAILED', 'retry_stage'],
  ] as const)('of %s is %s: to resume it would only fail again', (code, action) => {
    expect(nextActionFor(failed(code)).action).toBe(action);
  });

  it('of an undoing that failed goes on undoing, and starts nothing again', () => {
    for (const code of FAILURE_CODES) {
      const error = { code, failureClass: 'needs_human' } as const;
      expect(nextActionFor(ended('failed_manual_intervention', error, true)).action).toBe('retry_stage');
    }
  });

  it.each([
    ['retryable', 'retry_stage'],
    ['permanent', 'retry_stage'],
    ['needs_human', 'resume'],
    ['effect_unknown', 'adopt_observed_state'],
  ] as const)('of a %s failure that another version recorded is %s', (failureClass, action) => {
    expect(nextActionFor(failed('NOT_OF_THIS_VERSION', failureClass)).action).toBe(action);
  });

  it('of one that failed and does not say how is to resume it', () => {
    expect(nextActionFor(ended('failed_manual_intervention')).action).toBe('resume');
  });
});

describe('the table of failures', () => {
  it('has every code in one group', () => {
    const codes = Object.values(FAILURE_GROUPS).flatMap((group) => Object.keys(group));
    expect(codes).toEqual(FAILURE_CODES);
  });

  it.each(Object.entries(FAILURES))(
    '%s: half sentences in ASCII, and no action that is not there',
    (_code, row) => {
      for (const text of [row.whatHappened, row.check]) {
        expect(text).toMatch(/^[\x20-\x7e]+[^.\s]$/);
        expect(text).not.toMatch(/\bskip\b/);
      }
      expect(OPERATOR_ACTIONS).toHaveProperty(row.action);
    },
  );
});
