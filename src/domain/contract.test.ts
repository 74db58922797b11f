import { describe, expect, it } from 'vitest';
import { changeAtEnd, type Ending } from './contract.ts';
import { isActive, jobLifecycle, PHASE_OF_JOB } from './job-status.ts';
import { statesOf } from './lifecycle.ts';
import { sampleMachine } from './machine.fixture.ts';
import { applyChange } from './machine-change.ts';
import { OPERATION_TYPE_NAMES, type OperationType } from './operation-type.ts';

const FAILURE_REASONS = {
  REBOOT: 'RebootFailed',
  REIMAGE: 'ReimageFailed',
  ENTER_MAINTENANCE: 'EnterMaintenanceFailed',
  EXIT_MAINTENANCE: 'ExitMaintenanceFailed',
} as const satisfies Record<OperationType, string>;

const cause = { at: new Date(0), actor: { kind: 'system', id: 'r' }, operationId: 'op-1' } as const;

function ending(fields: Partial<Ending>): Ending {
  return {
    operationId: 'op-1',
    type: 'REBOOT',
    status: 'completed',
    failedStep: 'reboot',
    failure: 'the BMC is deaf',
    canceledBy: '',
    ...fields,
  };
}

const endOf = (machine: ReturnType<typeof sampleMachine>, fields: Partial<Ending>) =>
  applyChange(machine, changeAtEnd('operation', ending(fields)) ?? {}, cause).machine;

const statuses = statesOf(jobLifecycle);

describe.each(OPERATION_TYPE_NAMES)('the end of a %s', (type) => {
  it.each(statuses.filter(isActive))('is not told by %s', (status) => {
    expect(changeAtEnd('operation', ending({ type, status }))).toBeNull();
  });

  it.each(statuses)('never moves the phase (%s)', (status) => {
    expect(changeAtEnd('operation', ending({ type, status })) ?? {}).not.toHaveProperty('phase');
  });

  it.each(statuses.filter((status) => PHASE_OF_JOB[status] === 'FAILED'))(
    'asks for an intervention when it is %s',
    (status) => {
      const { conditions } = endOf(sampleMachine(), { type, status });
      expect(conditions.NeedsIntervention).toMatchObject({
        status: true,
        reason: FAILURE_REASONS[type],
        message: `${type} op-1 failed at reboot: the BMC is deaf`,
      });
    },
  );

  it('says who canceled it, and asks for nothing', () => {
    const canceled = endOf(sampleMachine(), { type, status: 'cancelled', canceledBy: 'operator:ann' });
    expect(canceled.conditions).toMatchObject({
      OperationCanceled: {
        status: true,
        reason: 'Canceled',
        message: `${type} op-1 was canceled by operator:ann`,
      },
    });
    expect(canceled.conditions).not.toHaveProperty('NeedsIntervention');
    const byNobody = endOf(sampleMachine(), { type, status: 'cancelled' });
    expect(byNobody.conditions.OperationCanceled?.message).toBe(`${type} op-1 was canceled`);
  });

  it.each(['completed', 'reconciled', 'failed_retryable', 'failed_manual_intervention'] as const)(
    'forgets an earlier cancel when it is %s',
    (status) => {
      const canceled = endOf(sampleMachine(), { status: 'cancelled' });
      expect(endOf(canceled, { type, status }).conditions.OperationCanceled).toMatchObject({
        status: false,
        reason: 'LaterOperationEnded',
      });
    },
  );

  it('leaves no trace on a healthy machine when it succeeds', () => {
    expect(endOf(sampleMachine(), { type, status: 'completed' }).conditions).toEqual({});
  });

  it.each(OPERATION_TYPE_NAMES)(
    'answers for a failed %s if it is of the same type or writes a fresh image',
    (failed) => {
      const broken = endOf(sampleMachine(), { type: failed, status: 'failed_retryable' });
      for (const status of ['completed', 'reconciled'] as const) {
        const after = endOf(broken, { type, status });
        expect(after.conditions.NeedsIntervention?.status).toBe(!(type === failed || type === 'REIMAGE'));
      }
    },
  );

  it('does not answer for what a person flagged', () => {
    const flagged = applyChange(
      sampleMachine(),
      { conditions: [{ type: 'NeedsIntervention', status: true, reason: 'Flagged', message: 'fan' }] },
      cause,
    ).machine;
    expect(endOf(flagged, { type, status: 'completed' }).conditions.NeedsIntervention?.status).toBe(true);
  });
});
