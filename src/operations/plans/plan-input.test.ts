import { describe, expect, it } from 'vitest';
import { Fault } from '../../domain/error/fault.ts';
import { DEFAULT_PLANS, type Plan } from '../../domain/operation/plan.ts';
import { RUN_TYPE_NAMES } from '../../domain/v1/run-type.ts';
import { STEP_KINDS } from '../../steps/registry.ts';
import { checkPlan, fieldPath, PLAN_STEP_KINDS } from './plan-input.ts';

/** A plan as it is written in a file. */
function writtenForm({ planId, displayName, steps }: Plan): unknown {
  return {
    plan_id: planId,
    display_name: displayName,
    steps: steps.map(({ name, kind, config, timeoutSeconds, maxRetries }) => ({
      name,
      timeout_seconds: timeoutSeconds,
      max_retries: maxRetries,
      [kind]: config,
    })),
  };
}

function withSteps(...steps: unknown[]): unknown {
  return { plan_id: 'p', steps };
}

function refusalOf(written: unknown): Fault {
  try {
    checkPlan(written);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('a plan that was written', () => {
  it('may have five steps of five kinds', () => {
    const plan = checkPlan({
      plan_id: 'plan-repave-ubuntu-2204-v1',
      display_name: 'Repave Ubuntu 22.04 + Join Cluster',
      steps: [
        { name: 'set-netboot', timeout_seconds: 60, max_retries: 2, netboot: { mode: 'PXE' } },
        { name: 'repave-os', timeout_seconds: 1800, max_retries: 1, repave: { image: 'ubuntu-22.04' } },
        { name: 'reboot', timeout_seconds: 300, max_retries: 2, reboot: { mode: 'bmc' } },
        { name: 'join-cluster', timeout_seconds: 600, max_retries: 1, join: { cluster_ref: 'cluster-a' } },
        { name: 'verify', timeout_seconds: 300, max_retries: 0, verify: { cluster_ref: 'cluster-a' } },
      ],
    });
    expect(
      plan.steps.map(({ name, kind, timeoutSeconds, maxRetries }) => [
        name,
        kind,
        timeoutSeconds,
        maxRetries,
      ]),
    ).toEqual([
      ['set-netboot', 'netboot', 60, 2],
      ['repave-os', 'repave', 1800, 1],
      ['reboot', 'reboot', 300, 2],
      ['join-cluster', 'join', 600, 1],
      ['verify', 'verify', 300, 0],
    ]);
    expect(plan.steps[1]?.config).toMatchObject({ image: 'ubuntu-22.04' });
  });

  it.each(RUN_TYPE_NAMES)('may be the default plan of %s', (type) => {
    const { steps } = checkPlan(writtenForm(DEFAULT_PLANS[type]));
    expect(steps).toMatchObject(DEFAULT_PLANS[type].steps);
  });

  it('has the default time limit where it has 0 seconds, and no retries where it has 0 retries', () => {
    const [step] = checkPlan(withSteps({ name: 'a', timeout_seconds: 0, max_retries: 0, reboot: {} })).steps;
    expect([step?.timeoutSeconds, step?.maxRetries]).toEqual([null, 0]);
    const [unset] = checkPlan(withSteps({ name: 'a', reboot: null })).steps;
    expect([unset?.timeoutSeconds, unset?.maxRetries, unset?.config]).toEqual([null, null, { mode: 'bmc' }]);
  });

  it.each<[what: string, field: string, problem: string, written: unknown]>([
    ['nothing', 'plan', 'object', null],
    ['a list', 'plan', 'object', []],
    ['a word', 'plan', 'object', 'reboot'],
    ['an unknown field', 'plan', 'stepz', { plan_id: 'p', stepz: [], steps: [{ name: 'a', reboot: {} }] }],
    ['no steps', 'plan.steps', '', { plan_id: 'p' }],
    ['an empty list of steps', 'plan.steps', 'empty', withSteps()],
    ['a step that is a word', 'plan.steps[0]', 'object', withSteps('reboot')],
    [
      'an unknown step kind',
      'plan.steps[1]',
      'fly',
      withSteps({ name: 'a', reboot: {} }, { name: 'b', fly: {} }),
    ],
    [
      'a step kind of the server’s own',
      'plan.steps[0]',
      'phase',
      withSteps({ name: 'a', phase: { phase: 'READY' } }),
    ],
    [
      'two kinds in one step',
      'plan.steps[0]',
      'not reboot and verify',
      withSteps({ name: 'a', reboot: {}, verify: {} }),
    ],
    ['no kind in a step', 'plan.steps[0]', 'exactly one of ssh, reboot', withSteps({ name: 'a' })],
    [
      'a name for the third time',
      'plan.steps[1].name',
      'steps[0] too',
      withSteps({ name: 'a', reboot: {} }, { name: 'a', reboot: {} }, { name: 'a', reboot: {} }),
    ],
    [
      'half a second',
      'plan.steps[0].timeout_seconds',
      'whole number',
      withSteps({ name: 'a', timeout_seconds: 0.5, reboot: {} }),
    ],
    [
      'seconds in words',
      'plan.steps[0].timeout_seconds',
      'number',
      withSteps({ name: 'a', timeout_seconds: '60', reboot: {} }),
    ],
    [
      'retries in words',
      'plan.steps[0].max_retries',
      'number',
      withSteps({ name: 'a', max_retries: 'many', reboot: {} }),
    ],
    [
      'a configuration that is a word',
      'plan.steps[0].ssh',
      'object',
      withSteps({ name: 'a', ssh: 'uptime' }),
    ],
    [
      'a configuration that is a list',
      'plan.steps[0].ssh',
      'object',
      withSteps({ name: 'a', ssh: ['uptime'] }),
    ],
    [
      'a misspelt field of a kind',
      'plan.steps[0].ssh.repeatble',
      'command, check, repeatable',
      withSteps({ name: 'a', ssh: { command: 'x', repeatble: true } }),
    ],
    [
      'a flag in words',
      'plan.steps[0].ssh.repeatable',
      'true or false',
      withSteps({ name: 'a', ssh: { command: 'x', repeatable: 'yes' } }),
    ],
    [
      'half a character',
      'plan.steps[0].ssh.command',
      '',
      withSteps({ name: 'a', ssh: { command: 'a\ud800' } }),
    ],
    [
      'half a character in its title',
      'plan.display_name',
      '',
      { plan_id: 'p', display_name: '\ud800', steps: [] },
    ],
  ])('is refused for %s (%s)', (_what, field, problem, written) => {
    const fault = refusalOf(written);
    expect([fault.kind, fault.reason]).toEqual(['invalid_argument', 'INVALID_FIELD']);
    expect(fault.violations).toEqual([{ subject: field, description: expect.stringContaining(problem) }]);
    expect(fault.metadata).toEqual({ field });
  });
});

/** Those that other operations than runs are made of. */
const SERVERS_OWN = [
  'phase',
  'stage',
  'power',
  'power-cap',
  'clear-log',
  'bmc-reset',
  'boot-override',
  'rotate-password',
  'boot-eraser',
  'replace-hardware',
  'await-replacement',
  'finish-migration',
];

it('every step kind but those of the server’s own may be in a plan', () => {
  expect([...PLAN_STEP_KINDS].sort()).toEqual(
    [...STEP_KINDS.keys()]
      .filter((kind) => !SERVERS_OWN.includes(kind))
      .map((kind) => kind.replaceAll('-', '_'))
      .sort(),
  );
});

it('a field’s path is written as in the API', () => {
  expect(fieldPath(['steps', 1, 'netboot', 'mode'])).toBe('steps[1].netboot.mode');
  expect(fieldPath([])).toBe('');
});
