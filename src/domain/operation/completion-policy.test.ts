import { describe, expect, it } from 'vitest';
import { INTERVENTIONS } from '../condition/intervention.ts';
import { statesOf } from '../lifecycle/lifecycle.ts';
import { sampleMachine } from '../machine/machine.fixture.ts';
import { applyChange } from '../machine/machine-change.ts';
import type { ServiceState } from '../machine/service-state.ts';
import { DECOMMISSION_MODES, type DecommissionStage } from '../workflow/stage.ts';
import { type CompletionPolicyName, changeAtEnd, type Ending } from './completion-policy.ts';
import { isActive, operationLifecycle, PHASE_OF_STATUS } from './operation-status.ts';
import { OPERATION_TYPE_NAMES, type OperationType } from './operation-type.ts';

const FAILURE_REASONS = {
  REBOOT: 'RebootFailed',
  REIMAGE: 'ReimageFailed',
  ENTER_MAINTENANCE: 'EnterMaintenanceFailed',
  EXIT_MAINTENANCE: 'ExitMaintenanceFailed',
  RMA: 'RmaFailed',
  UPGRADE: 'UpgradeFailed',
  NET_RECONFIG: 'NetReconfigFailed',
  JOIN: 'JoinFailed',
  ONBOARD: 'OnboardFailed',
  DECOMMISSION: 'DecommissionFailed',
  DRAIN: 'DrainFailed',
  REMOVE: 'RemoveFailed',
  ERASE: 'EraseFailed',
  MIGRATE: 'MigrateFailed',
  INSPECT: 'InspectFailed',
  POWER: 'PowerFailed',
  BMC: 'BmcFailed',
} as const satisfies Record<OperationType, string>;

const cause = { at: new Date(0), actor: { kind: 'system', id: 'r' }, operationId: 'op-1' } as const;

function ending(fields: Partial<Ending>): Ending {
  return {
    operationId: 'op-1',
    type: 'REBOOT',
    status: 'completed',
    failedStep: 'reboot',
    failureCode: '',
    failure: 'the BMC is deaf',
    canceledBy: '',
    retires: false,
    ...fields,
  };
}

const endOf = (
  machine: ReturnType<typeof sampleMachine>,
  fields: Partial<Ending>,
  completionPolicy: CompletionPolicyName,
) => applyChange(machine, changeAtEnd(completionPolicy, ending(fields)) ?? {}, cause).machine;

const POLICY_NAMES = ['operation', 'run'] as const satisfies readonly CompletionPolicyName[];
const statuses = statesOf(operationLifecycle);

/** Operations of the v2 API leave the phase alone; runs of the v1 API change it when they make the machine ready, fail or are canceled. */
function phaseAfter(
  completionPolicy: CompletionPolicyName,
  type: OperationType,
  status: Ending['status'],
): string | undefined {
  if (completionPolicy === 'operation' || isActive(status)) return undefined;
  if (PHASE_OF_STATUS[status] !== 'SUCCEEDED') return 'MAINTENANCE';
  return type === 'REIMAGE' || type === 'JOIN' ? 'READY' : undefined;
}

const everyEnd = POLICY_NAMES.flatMap((completionPolicy) =>
  OPERATION_TYPE_NAMES.map((type) => [type, completionPolicy] as const),
);

describe.each(everyEnd)('the end of a %s under the completion policy %s', (type, completionPolicy) => {
  const end = (machine: ReturnType<typeof sampleMachine>, fields: Partial<Ending>) =>
    endOf(machine, fields, completionPolicy);

  it.each(statuses.filter(isActive))('is no change while the operation is %s', (status) => {
    expect(changeAtEnd(completionPolicy, ending({ type, status }))).toBeNull();
  });

  it.each(statuses)('moves the phase by its completion policy (%s)', (status) => {
    expect(changeAtEnd(completionPolicy, ending({ type, status }))?.phase).toBe(
      phaseAfter(completionPolicy, type, status),
    );
  });

  it.each(statuses.filter((status) => PHASE_OF_STATUS[status] === 'FAILED'))(
    'asks for an intervention when it is %s',
    (status) => {
      const { conditions } = end(sampleMachine(), { type, status });
      expect(conditions.NeedsIntervention).toMatchObject({
        status: true,
        reason: FAILURE_REASONS[type],
        message: `${type} op-1 failed at reboot: the BMC is deaf`,
      });
    },
  );

  it('names who canceled it, and needs no operator', () => {
    const canceled = end(sampleMachine(), { type, status: 'cancelled', canceledBy: 'operator:ann' });
    expect(canceled.conditions).toMatchObject({
      OperationCanceled: {
        status: true,
        reason: 'Canceled',
        message: `${type} op-1 was canceled by operator:ann`,
      },
    });
    expect(canceled.conditions).not.toHaveProperty('NeedsIntervention');
    const byNobody = end(sampleMachine(), { type, status: 'cancelled' });
    expect(byNobody.conditions.OperationCanceled?.message).toBe(`${type} op-1 was canceled`);
  });

  it.each(['completed', 'reconciled', 'failed_retryable', 'failed_manual_intervention'] as const)(
    'forgets an earlier cancel when it is %s',
    (status) => {
      const canceled = end(sampleMachine(), { status: 'cancelled' });
      expect(end(canceled, { type, status }).conditions.OperationCanceled).toMatchObject({
        status: false,
        reason: 'LaterOperationEnded',
      });
    },
  );

  it('leaves no trace on a healthy machine when it succeeds', () => {
    const { RMA: flag, ...others } = end(sampleMachine(), { type, status: 'completed' }).conditions;
    expect(others).toEqual({});
    expect(flag?.status).toBe(completionPolicy === 'run' && type === 'RMA' ? true : undefined);
  });

  it.each(OPERATION_TYPE_NAMES)(
    'answers for a failed %s if it is of the same type or writes a fresh image',
    (failed) => {
      const broken = end(sampleMachine(), { type: failed, status: 'failed_retryable' });
      for (const status of ['completed', 'reconciled'] as const) {
        const after = end(broken, { type, status });
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
    expect(end(flagged, { type, status: 'completed' }).conditions.NeedsIntervention?.status).toBe(true);
  });
});

describe('the end of an onboarding', () => {
  const enrolling = sampleMachine({ service: 'enrolling' });
  const failing = (failureCode: string) =>
    endOf(enrolling, { type: 'ONBOARD', status: 'failed_manual_intervention', failureCode }, 'onboarding');

  it.each(Object.entries(INTERVENTIONS))('by %s leaves the machine as §7 wants it', (code, { leaves }) => {
    expect(failing(code).service).toBe(leaves);
    expect(failing(code).conditions.NeedsIntervention?.status).toBe(true);
  });

  it('by anything else leaves it enrolling', () => {
    for (const code of ['', 'HELD', 'MAAS_UNAVAILABLE', 'toString'])
      expect(failing(code).service).toBe('enrolling');
  });

  it.each([
    ['FACTORY_READY', 'READY'],
    ['READY', 'READY'],
    ['MAINTENANCE', 'MAINTENANCE'],
  ] as const)('by success makes a machine that was %s %s, provisioned and active', (phase, after) => {
    for (const status of ['completed', 'reconciled'] as const) {
      const done = endOf({ ...enrolling, phase }, { type: 'ONBOARD', status }, 'onboarding');
      expect(done).toMatchObject({
        phase: after,
        service: 'active',
        conditions: { Provisioned: { status: true, reason: 'Deployed' } },
      });
    }
  });

  it('by success activates a machine that is onboarded again, and leaves a quarantined one alone', () => {
    const ends = (service: ServiceState) =>
      endOf(sampleMachine({ service }), { type: 'ONBOARD', status: 'completed' }, 'onboarding').service;
    expect([ends('offline'), ends('quarantined'), ends('retired')]).toEqual([
      'active',
      'quarantined',
      'retired',
    ]);
  });

  it('by anything but success leaves the phase alone', () => {
    for (const status of ['failed_retryable', 'failed_manual_intervention', 'cancelled'] as const)
      expect(endOf(enrolling, { type: 'ONBOARD', status }, 'onboarding').phase).toBe('FACTORY_READY');
  });

  it('by a cancel answers for its own failure, and for nothing else', () => {
    const given = endOf(failing('PXE_NOT_FIXABLE'), { type: 'ONBOARD', status: 'cancelled' }, 'onboarding');
    expect(given.conditions).toMatchObject({
      NeedsIntervention: { status: false },
      OperationCanceled: { status: true },
    });
    const rebooted = endOf(enrolling, { type: 'REBOOT', status: 'failed_retryable' }, 'operation');
    const canceled = endOf(rebooted, { type: 'ONBOARD', status: 'cancelled' }, 'onboarding');
    expect(canceled.conditions.NeedsIntervention).toMatchObject({ status: true, reason: 'RebootFailed' });
  });
});

describe('the end of a workflow leaves no machine in a state that only an operation may own', () => {
  const ENDS = statuses.filter((status) => !isActive(status));
  const serviceAfter = (
    completionPolicy: CompletionPolicyName,
    type: OperationType,
    service: ServiceState,
    status: Ending['status'],
  ) => endOf(sampleMachine({ service }), { type, status }, completionPolicy).service;

  it.each(ENDS)('a decommission that is %s does not stay draining', (status) => {
    expect(serviceAfter('decommission', 'DECOMMISSION', 'draining', status)).not.toBe('draining');
    expect(serviceAfter('decommission', 'DRAIN', 'draining', status)).toBe('offline');
  });

  it.each(ENDS.filter((status) => PHASE_OF_STATUS[status] !== 'SUCCEEDED'))(
    'what came as far as removing and is %s keeps its identity, retired',
    (status) => {
      expect(serviceAfter('decommission', 'DECOMMISSION', 'removing', status)).toBe('retired');
      expect(serviceAfter('removal', 'REMOVE', 'removing', status)).toBe('retired');
    },
  );

  it('and moves none that is elsewhere', () => {
    for (const service of ['active', 'offline', 'quarantined', 'retired', 'deleted'] as const) {
      for (const status of ENDS.filter((end) => PHASE_OF_STATUS[end] !== 'SUCCEEDED'))
        expect(serviceAfter('decommission', 'DECOMMISSION', service, status)).toBe(service);
    }
  });
});

describe('a decommission that ends leaves its node as §5.3 has it', () => {
  const leaves = (
    service: ServiceState,
    status: Ending['status'],
    fields: Partial<Ending> & { readonly failedStep?: DecommissionStage } = {},
  ) => {
    const machine = sampleMachine({ service });
    const end = ending({ type: 'DECOMMISSION', status, retires: true, ...fields });
    const { machine: after, events } = applyChange(machine, changeAtEnd('decommission', end) ?? {}, cause);
    const moves = events.filter(({ kind }) => kind === 'service').map(({ from, to }) => `${from}>${to}`);
    return [after.service, ...moves];
  };
  const AFTER_DRAIN: readonly DecommissionStage[] = DECOMMISSION_MODES.full_decommission.stages.slice(
    DECOMMISSION_MODES.full_decommission.stages.indexOf('drain_node') + 1,
  );
  const CLEANUPS: readonly DecommissionStage[] = ['cleanup_storage', 'scrub_gpu', 'validate_clean_node'];
  const RELEASES = ['load_site_config', 'release_maas_node', 'power_off_maas_node'] as const;

  it.each(AFTER_DRAIN)('failed_retryable at %s, after the drain: retired', (failedStep) => {
    expect(leaves('draining', 'failed_retryable', { failedStep })).toEqual(['retired', 'draining>retired']);
    expect(leaves('removing', 'failed_retryable', { failedStep })).toEqual(['retired', 'removing>retired']);
    expect(leaves('retired', 'failed_retryable', { failedStep })).toEqual(['retired']);
  });

  it.each(RELEASES)('failed_manual_intervention at %s: retired', (failedStep) => {
    expect(leaves('draining', 'failed_manual_intervention', { failedStep })[0]).toBe('retired');
  });

  it.each(CLEANUPS)(
    'failed_manual_intervention at %s: quarantined, seen nowhere in between',
    (failedStep) => {
      expect(leaves('draining', 'failed_manual_intervention', { failedStep })).toEqual([
        'quarantined',
        'draining>offline',
        'offline>quarantined',
      ]);
    },
  );

  it.each(['disable_node', 'force_release_allocations', 'drain_node'] as const)(
    'at %s: a drain that failed is offline, and quarantined where an operator must act',
    (failedStep) => {
      expect(leaves('draining', 'failed_retryable', { failedStep })[0]).toBe('offline');
      expect(leaves('draining', 'failed_manual_intervention', { failedStep })[0]).toBe('quarantined');
    },
  );

  it('completed: where its last stage left it, and offline where it was only cleaned', () => {
    expect(leaves('deleted', 'completed')).toEqual(['deleted']);
    expect(leaves('retired', 'completed')).toEqual(['retired']);
    expect(leaves('draining', 'completed', { retires: false })).toEqual(['offline', 'draining>offline']);
    // A cleanup that failed was retired, and has been tried again.
    expect(leaves('retired', 'completed', { retires: false })).toEqual(['offline', 'retired>offline']);
  });

  it('canceled: quarantined, because half a cleanup is none', () => {
    expect(leaves('draining', 'cancelled')[0]).toBe('quarantined');
    expect(leaves('removing', 'cancelled')[0]).toBe('retired');
  });
});
