import { describe, expect, it } from 'vitest';
import type { ConditionType } from '../condition/condition.ts';
import type { UpstreamView } from '../condition/upstream-view.ts';
import { FAILURE_CLASSES, type FailureClass } from '../error/failure-class.ts';
import { FAILURES, type FailureCode } from '../error/failure-code.ts';
import { sampleMachine } from '../machine/machine.fixture.ts';
import type { Machine } from '../machine/machine.ts';
import { isMachineAction, MACHINE_ACTIONS } from '../machine/machine-action.ts';
import type { Operation } from '../operation/operation.ts';
import { OPERATOR_ACTIONS } from '../operation/operator-action.ts';
import { newStep } from '../operation/step.ts';
import { type ExplainedMachine, explain } from './explain.ts';

function flag(type: ConditionType, message = ''): Machine['conditions'] {
  return { [type]: { status: true, reason: 'Because', message, lastTransition: '2026-01-01T00:00:00.000Z' } };
}

function operation(fields: Partial<Operation> = {}): Operation {
  const definition = {
    kind: 'stage',
    config: {},
    timeoutSeconds: 60,
    maxRetries: 1,
    title: '',
    doneTitle: '',
  };
  return {
    operationId: 'op-1',
    machineId: 'm-1',
    requestId: 'r-1',
    type: 'ONBOARD',
    status: 'running',
    planId: '',
    completionPolicy: 'onboarding',
    params: {},
    steps: [{ ...newStep({ name: 'deploy_via_maas', ...definition }), state: 'running' }],
    current: 0,
    error: null,
    waitingFor: '',
    approval: null,
    cancelRequested: false,
    rolloutId: '',
    startedBy: 'alice',
    createdAt: new Date('2026-01-01T00:00:00.000Z'),
    startedAt: null,
    finishedAt: null,
    ...fields,
  };
}

function failure(code: FailureCode, fields: Partial<Operation> = {}): Operation {
  const isUnknown = FAILURES[code].action === 'adopt_observed_state';
  const failureClass: FailureClass = isUnknown ? 'effect_unknown' : 'needs_human';
  const error = { code, message: 'it stays wrong', retryable: false, step: 'pxe', attempts: 1, failureClass };
  return operation({ status: FAILURE_CLASSES[failureClass].endsAs, error, ...fields });
}

interface Situation
  extends Partial<Machine>,
    Partial<Pick<ExplainedMachine, 'operation' | 'node' | 'serviceMover' | 'upstream'>> {
  /** Of a system that moved it. */
  readonly serviceComment?: string;
}

const SYSTEM = { actorKind: 'system', actorId: 'cleanup' } as const;

function explained({ operation: last = null, node = null, serviceComment, ...rest }: Situation) {
  const { serviceMover, upstream = null, ...machine } = rest;
  const comment = serviceComment === undefined ? null : { ...SYSTEM, comment: serviceComment };
  return explain({
    now: new Date('2026-01-02T00:00:00.000Z'),
    ...{ operation: last, node, upstream },
    machine: sampleMachine(machine),
    serviceMover: serviceMover ?? comment,
  });
}

/** A machine in service, except for the fields of the row. */
const SERVING = { phase: 'READY', service: 'active', presence: 'ready' } as const;
const ENROLLING = { ...SERVING, service: 'enrolling', conditions: flag('NeedsIntervention') } as const;

const QUARANTINED = { ...SERVING, service: 'quarantined', pool: 'gpu' } as const;
const OBSERVED = { source: 'site-a', state: 'Deployed', power: 'on', upstreamId: 'x', at: '' } as const;
const AT = new Date('2026-01-02T03:04:05.678Z');
const SEEN: UpstreamView = {
  ...{ source: 'site-a', state: 'Deployed', power: 'on', upstreamId: 'x', since: AT, seenAt: AT },
  ...{ expected: ['Deployed'], disagreement: '', accepted: null, failure: '' },
};
const DRIFT = { actorKind: 'system', actorId: 'drift', comment: 'it drifted' } as const;
const ALICE = { actorKind: 'operator', actorId: 'alice', comment: 'suspicious' } as const;
const DRIFTED: Machine['conditions'] = {
  NeedsIntervention: {
    status: true,
    reason: 'UpstreamDrift',
    message: 'the upstream says Broken',
    lastTransition: '',
  },
};

type Row = readonly [situation: string, given: Situation, what: string, who: string, command: string];

const TABLE: readonly Row[] = [
  ['retired for good', { ...SERVING, conditions: flag('Retired', 'too old') }, 'too old', 'admin', ''],
  ['deleted', { ...SERVING, service: 'deleted' }, 'it was removed from the inventory', 'admin', ''],
  [
    'to be returned',
    { ...SERVING, conditions: flag('RMA', 'bad DIMM') },
    'it is flagged for return (bad DIMM)',
    'admin',
    'unflag m-1 rma --reason "…"',
  ],
  [
    'to be returned while an operation works on it',
    { ...SERVING, conditions: flag('RMA'), operation: operation() },
    'it is flagged for return',
    'admin',
    'unflag m-1 rma --reason "…"',
  ],
  [
    'an operation under way',
    { ...SERVING, service: 'enrolling', operation: operation({ waitingFor: 'MAAS says Deploying' }) },
    'ONBOARD op-1 is running at deploy_via_maas, MAAS says Deploying',
    'nobody',
    'op watch op-1',
  ],
  [
    'retired and given back to its upstream',
    {
      ...SERVING,
      service: 'retired',
      pool: 'gpu',
      observed: { source: 'site-a', state: 'Ready', power: 'off', upstreamId: 'x', at: '' },
    },
    'it was taken out of scheduling on purpose, and nothing is deployed on it',
    'operator',
    'onboard m-1 --pool gpu',
  ],
  [
    'used again, which was called off',
    {
      ...SERVING,
      service: 'offline',
      conditions: {
        OperationCanceled: { status: true, reason: 'OnboardCanceled', message: '', lastTransition: '' },
      },
      operation: operation({ status: 'cancelled' }),
    },
    'its onboarding was canceled',
    'operator',
    'onboard m-1 --pool <pool>',
  ],
  [
    'an onboarding that was canceled',
    {
      ...SERVING,
      service: 'enrolling',
      conditions: flag('OperationCanceled'),
      operation: operation({ status: 'cancelled' }),
    },
    'its onboarding was canceled',
    'operator',
    'onboard m-1 --pool <pool>',
  ],
  [
    'an operation that has not started',
    { ...SERVING, service: 'draining', operation: operation({ status: 'pending', steps: [] }) },
    'ONBOARD op-1 is pending',
    'nobody',
    'op watch op-1',
  ],
  [
    'an operation that needs a human',
    { ...ENROLLING, operation: failure('PXE_NOT_FIXABLE') },
    'ONBOARD op-1 failed at pxe: it stays wrong',
    'site',
    'op retry-stage op-1 --reason "…"',
  ],
  [
    'an operation whose record is gone upstream',
    { ...ENROLLING, service: 'quarantined', operation: failure('MACHINE_GONE') },
    'ONBOARD op-1 failed at pxe',
    'operator',
    'op rerun op-1 --reason "…"',
  ],
  [
    'an operation whose effect is unknown',
    { ...ENROLLING, operation: failure('EFFECT_UNKNOWN') },
    'ONBOARD op-1 failed at pxe',
    'operator',
    'op adopt op-1 --reason "…"',
  ],
  [
    'a failed onboarding whose flag was cleared: it is still not onboarded',
    { ...ENROLLING, conditions: {}, operation: failure('HELD') },
    'ONBOARD op-1 failed at pxe',
    'operator',
    'op resume op-1 --reason "…"',
  ],
  [
    'an operator must act, and no operation explains why',
    { ...SERVING, conditions: flag('NeedsIntervention', 'a fan is loud') },
    'an operator must act: a fan is loud',
    'operator',
    'clear m-1 --reason "…"',
  ],
  [
    'a token that was issued',
    { ...SERVING, service: 'bootstrap_issued', presence: 'pending' },
    'its agent has not registered yet',
    'operator',
    '',
  ],
  [
    'a token that ran out',
    { ...SERVING, service: 'bootstrap_issued', presence: 'expired', pool: 'gpu' },
    'its agent did not register before its token expired',
    'operator',
    'machine create --machine-id m-1 --pool gpu',
  ],
  [
    'not onboarded',
    { ...SERVING, service: 'enrolling', pool: 'gpu' },
    'it is not onboarded yet',
    'operator',
    'onboard m-1 --pool gpu',
  ],
  [
    'not reporting',
    { ...SERVING, service: 'offline', presence: 'expired' },
    'its agent does not report',
    'site',
    'show m-1',
  ],
  [
    'reporting again',
    { ...SERVING, service: 'offline' },
    'its agent reports again, and it is about to be put back into service',
    'nobody',
    'show m-1',
  ],
  [
    'released in its upstream',
    { ...QUARANTINED, observed: { ...OBSERVED, state: 'Ready' }, upstream: SEEN, serviceMover: DRIFT },
    'it is quarantined: site-a says Ready (it drifted), seen 2026-01-02 03:04:05 UTC',
    'upstream',
    'onboard m-1 --pool gpu',
  ],
  [
    'deployed again, without its agent',
    { ...QUARANTINED, presence: 'expired', observed: OBSERVED, upstream: SEEN, serviceMover: DRIFT },
    'it is quarantined: site-a says Deployed again, seen 2026-01-02 03:04:05 UTC, and its agent does not report',
    'site',
    'show m-1',
  ],
  [
    'quarantined by a person',
    { ...QUARANTINED, observed: OBSERVED, upstream: SEEN, serviceMover: ALICE },
    'it is quarantined by operator:alice: suspicious',
    'operator',
    'service m-1 active --reason "…"',
  ],
  [
    'quarantined by a person, and not deployed',
    {
      ...QUARANTINED,
      observed: { ...OBSERVED, state: 'Ready' },
      upstream: { ...SEEN, disagreement: 'site-a says Ready' },
      serviceMover: ALICE,
    },
    'it is quarantined by operator:alice: suspicious; site-a says Ready, seen 2026-01-02 03:04:05 UTC',
    'operator',
    'drain m-1',
  ],
  [
    'drifted while it was retired',
    { ...SERVING, service: 'retired', pool: 'gpu', conditions: DRIFTED },
    'an operator must act: the upstream says Broken',
    'upstream',
    'onboard m-1 --pool gpu',
  ],
  [
    'quarantined because its upstream lost it',
    {
      ...QUARANTINED,
      observed: { ...OBSERVED, state: 'absent' },
      serviceComment: 'the upstream says absent',
    },
    'it is quarantined: its record in site-a is gone (the upstream says absent)',
    'operator',
    'onboard m-1 --pool gpu',
  ],
  [
    'quarantined because its upstream moved it',
    { ...QUARANTINED, observed: { ...OBSERVED, state: 'Ready' } },
    'it is quarantined: site-a says Ready',
    'upstream',
    'onboard m-1 --pool gpu',
  ],
  [
    'quarantined by an operator',
    { ...QUARANTINED, observed: OBSERVED, serviceComment: 'a fan is loud' },
    'it is quarantined: a fan is loud',
    'operator',
    'service m-1 active --reason "…"',
  ],
  [
    'quarantined',
    { ...SERVING, service: 'quarantined' },
    'it is quarantined',
    'operator',
    'service m-1 active --reason "…"',
  ],
  [
    'draining without an operation',
    { ...SERVING, service: 'draining' },
    'it is draining, and no operation drains it',
    'operator',
    'drain m-1',
  ],
  [
    'retired on purpose',
    { ...SERVING, service: 'retired', operation: operation({ type: 'DRAIN', status: 'completed' }) },
    'it was taken out of scheduling on purpose',
    'admin',
    'service m-1 offline --reason "…"',
  ],
  [
    'removing without an operation',
    { ...SERVING, service: 'removing' },
    'it is being removed, and no operation removes it',
    'operator',
    'remove m-1',
  ],
  [
    'discovered',
    { phase: 'READY', node: { state: 'discovered', lastError: '' } },
    'it was discovered and waits for approval',
    'admin',
    'node approve m-1 --workflow <name>',
  ],
  [
    'an installation that failed',
    { phase: 'READY', node: { state: 'install_failed', lastError: 'no disk' } },
    'its installation failed: no disk',
    'admin',
    'node state m-1 pending --force',
  ],
  [
    'waiting for its installer',
    { phase: 'READY', node: { state: 'pending', lastError: '' } },
    'it waits to boot its installer',
    'site',
    'reboot m-1',
  ],
  [
    'waiting for its installer, approved too long ago',
    {
      phase: 'READY',
      node: { state: 'pending', lastError: 'this boot is not expected: nothing approved it' },
    },
    'it booted from its disk: this boot is not expected: nothing approved it',
    'admin',
    'node approve m-1',
  ],
  [
    'two machines that boot as it',
    {
      install: 'pending',
      conditions: {
        NeedsIntervention: {
          status: true,
          reason: 'BootConflict',
          message: '192.0.2.7 asked to boot as this machine',
          lastTransition: '2026-01-01T00:00:00.000Z',
        },
      },
    },
    'an operator must act: 192.0.2.7 asked to boot as this machine',
    'operator',
    'node approve m-1',
  ],
  [
    'installed',
    { phase: 'READY', node: { state: 'installed', lastError: '' } },
    'it is installed and waits to be verified',
    'admin',
    'node state m-1 active',
  ],
  ['in maintenance', { phase: 'MAINTENANCE' }, 'it is in maintenance', 'operator', 'exit-maintenance m-1'],
  ['new', {}, 'it has never been provisioned', 'operator', 'enter-maintenance m-1'],
  [
    'out of reach',
    {
      phase: 'READY',
      conditions: { Reachable: { status: false, reason: 'Silent', message: '', lastTransition: '' } },
    },
    "it can't be reached (Silent)",
    'site',
    'show m-1',
  ],
];

describe('explain', () => {
  it.each(TABLE)('%s: names the obstacle, who must act and how', (_situation, given, ...first) => {
    const { inService, summary, obstacles } = explained(given);
    const [what, who, command] = first;
    expect(inService).toBe(false);
    expect(obstacles[0]).toMatchObject({ what: expect.stringContaining(what), who, command });
    expect(obstacles[0]?.unblock).not.toBe('');
    expect(summary).toBe(`m-1 is not in service: ${obstacles[0]?.what}.`);
  });

  it.each<readonly [string, Situation]>([
    ['active', SERVING],
    ['active, and onboarded', { ...SERVING, operation: operation({ status: 'completed' }) }],
    ['active, and adopted', { ...SERVING, operation: operation({ status: 'reconciled' }) }],
    ['active, and a drain was canceled', { ...SERVING, operation: operation({ status: 'cancelled' }) }],
    ['active by its agent, never provisioned', { ...SERVING, phase: 'FACTORY_READY' }],
    ['ready', { phase: 'READY' }],
    // An operator has cleared the machine: the operation stays failed forever.
    ['active, and a failure was cleared', { ...SERVING, operation: failure('PXE_NOT_FIXABLE') }],
    [
      'ready, and a failure was cleared',
      { phase: 'READY', operation: failure('PXE_NOT_FIXABLE', { type: 'REBOOT' }) },
    ],
  ])('%s: in service, and nothing in the way', (_situation, given) => {
    expect(explained(given)).toEqual({ inService: true, summary: 'm-1 is in service.', obstacles: [] });
  });

  it.each(TABLE)('%s: names for programs what its command does', (_situation, given) => {
    for (const { command, action, operationId } of explained(given).obstacles) {
      const verb =
        action === undefined
          ? undefined
          : isMachineAction(action)
            ? MACHINE_ACTIONS[action].verb
            : `op ${OPERATOR_ACTIONS[action].verb}`;
      // Showing, watching and issuing a token are not actions on the machine.
      if (verb === undefined) expect(command).toMatch(/^(|show .*|op watch .*|machine create .*)$/);
      else expect(command.startsWith(`${verb} ${operationId ?? 'm-1'}`), command).toBe(true);
    }
  });

  it('does not blame the agent where a drain failed and it reports', () => {
    const operations = [
      failure('HOOK_FAILED', { type: 'DRAIN', completionPolicy: 'decommission' }),
      // A failure that another operation has hidden since.
      operation({ type: 'REBOOT', status: 'completed' }),
    ];
    for (const last of operations) {
      const conditions = flag('NeedsIntervention', 'DRAIN op-1 failed at drain_node');
      const { obstacles } = explained({ ...SERVING, service: 'offline', conditions, operation: last });
      expect(obstacles).toHaveLength(1);
      expect(JSON.stringify(obstacles)).not.toContain('does not report');
    }
  });

  it('names who put a machine into service against its upstream', () => {
    const disagreement = 'site-a says Broken, and a node that is active should be Deployed';
    const accepted = { by: 'operator:alice', reason: 'only a flag', at: '' };
    const { inService, summary } = explained({ ...SERVING, upstream: { ...SEEN, disagreement, accepted } });
    expect(inService).toBe(true);
    expect(summary).toBe(
      `m-1 is in service, although ${disagreement}, seen 2026-01-02 03:04:05 UTC: forced by operator:alice (only a flag).`,
    );
  });

  it('reports what a failed operation left behind once, and not as a second obstacle', () => {
    for (const service of ['enrolling', 'quarantined', 'draining', 'removing'] as const) {
      const given = { ...ENROLLING, service, operation: failure('PXE_NOT_FIXABLE') };
      expect(explained(given).obstacles).toHaveLength(1);
    }
  });
});
