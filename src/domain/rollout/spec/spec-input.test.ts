import { describe, expect, it } from 'vitest';
import { Fault } from '../../error/fault.ts';
import { isMachineId } from '../../machine/machine-input.ts';
import { durationText, readDuration } from './duration-text.ts';
import { checkRolloutSpec } from './spec-input.ts';
import type { WrittenSpec, WrittenStep } from './written-spec.ts';

const REBOOT: WrittenStep = { step: { case: 'reboot', value: {} } };

function written(fields: Partial<WrittenSpec> = {}): WrittenSpec {
  return {
    name: '',
    filter: 'labels.role=web AND phase=READY',
    machineIds: [],
    follow: false,
    steps: [REBOOT],
    waves: [],
    by: '',
    order: [],
    soak: '',
    gate: '',
    gates: [],
    maxParallel: '',
    limits: [],
    windows: [],
    blackouts: [],
    startAt: null,
    deadline: null,
    reason: '',
    overrideBudget: false,
    ...fields,
  };
}

function check(fields: Partial<WrittenSpec>) {
  const all = written(fields);
  return checkRolloutSpec(
    all,
    all.machineIds.findIndex((id) => !isMachineId(id)),
  );
}

function refusal(fields: Partial<WrittenSpec>): Fault {
  try {
    check(fields);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const step = (value: WrittenStep['step']): WrittenStep => ({ step: value });
const verify = (fields: object): WrittenStep =>
  step({ case: 'verify', value: { condition: '', filter: '', for: '', timeout: '', ...fields } });
const stop = (fields: object) => ({
  afterFailures: 0,
  failurePercent: 0,
  sameError: 0,
  poolDegraded: false,
  unhealthy: '',
  metrics: [],
  cancelRunning: false,
  ...fields,
});

describe('the spec of a rollout', () => {
  it('is filled in with everything that was left out', () => {
    expect(check({})).toEqual({
      name: 'reboot',
      filter: 'labels.role=web AND phase=READY',
      machineIds: [],
      follow: false,
      steps: [{ verb: 'reboot' }],
      waves: { sizes: ['rest'] },
      soakMs: 0,
      gate: 'automatic',
      gates: [],
      maxParallel: null,
      limits: [],
      stop: {
        afterFailures: null,
        failurePercent: null,
        sameError: null,
        poolDegraded: false,
        unhealthy: '',
        metrics: [],
        cancelRunning: false,
      },
      windows: [],
      blackouts: [],
      startAt: null,
      deadline: null,
      reason: '',
      overrideBudget: false,
    });
  });

  it('reads the whole example of the guide', () => {
    const spec = check({
      name: 'ubuntu-24.04',
      steps: [
        step({
          case: 'enterMaintenance',
          value: { duration: '2h', reason: 'new image', exitWhenOver: false },
        }),
        step({ case: 'reimage', value: { imageRef: 'ubuntu-2404' } }),
        verify({ condition: 'Provisioned', for: '30s' }),
        step({ case: 'exitMaintenance', value: {} }),
      ],
      waves: ['1', '10%', 'rest'],
      soak: '5m',
      gate: 'automatic',
      maxParallel: '20',
      limits: [{ groupBy: 'location.rack', filter: '', maxUnavailable: '1' }],
      stop: stop({ afterFailures: 3, failurePercent: 20, sameError: 2 }),
      windows: [{ days: ['mon', 'tue', 'wed'], from: '09:00', to: '16:00', timeZone: 'Europe/Berlin' }],
    });
    expect(spec.steps[2]).toEqual({
      verb: 'verify',
      filter: 'conditions.Provisioned=true',
      forMs: 30_000,
      timeoutMs: 1_800_000,
    });
    expect(spec).toMatchObject({
      waves: { sizes: [{ count: 1 }, { percent: 10 }, 'rest'] },
      soakMs: 300_000,
      maxParallel: { count: 20 },
      limits: [{ groupBy: 'location.rack', filter: '', maxUnavailable: { count: 1 } }],
      windows: [{ days: ['mon', 'tue', 'wed'], from: 540, to: 960, timeZone: 'Europe/Berlin' }],
    });
  });

  it.each([
    [
      ['1', '5', '25%', 'rest'],
      [{ count: 1 }, { count: 5 }, { percent: 25 }, 'rest'],
    ],
    [
      ['1', '25 %'],
      [{ count: 1 }, { percent: 25 }, 'rest'],
    ],
    [['rest'], ['rest']],
    [['Rest'], ['rest']],
  ])('has the waves %j', (waves, sizes) => {
    expect(check({ waves }).waves).toEqual({ sizes });
  });

  it('groups waves by what operators write, under long and short names', () => {
    expect(check({ by: 'rack', order: ['r2'] }).waves).toEqual({ by: 'effective_rack', order: ['r2'] });
    expect(check({ by: 'labels.tier' }).waves).toEqual({ by: 'labels.tier', order: [] });
    expect(check({ by: 'customer' }).waves).toEqual({ by: 'customer_id', order: [] });
  });

  it.each<[string, Partial<WrittenSpec>]>([
    ['spec.filter', { filter: '' }],
    ['spec.machine_ids', { machineIds: ['m-1'] }],
    ['spec.filter', { filter: 'nothing=1' }],
    ['spec.follow', { filter: '', machineIds: ['m-1'], follow: true }],
    ['spec.machine_ids[1]', { filter: '', machineIds: ['m-1', 'no id!'] }],
    ['spec.name', { name: 'x'.repeat(101) }],
    ['spec.steps', { steps: [] }],
    ['spec.steps', { steps: Array.from({ length: 21 }, () => REBOOT) }],
    ['spec.steps[0]', { steps: [step({ case: undefined })] }],
    ['spec.steps[0].reimage.image_ref', { steps: [step({ case: 'reimage', value: { imageRef: 'a b' } })] }],
    ['spec.steps[0].verify.condition', { steps: [verify({})] }],
    ['spec.steps[0].verify.condition', { steps: [verify({ condition: 'Shiny' })] }],
    ['spec.steps[0].verify.filter', { steps: [verify({ filter: 'a==b' })] }],
    ['spec.steps[0].verify.filter', { steps: [verify({ condition: 'Reachable', filter: 'phase=READY' })] }],
    ['spec.steps[0].verify.for', { steps: [verify({ condition: 'Reachable', for: 'soon' })] }],
    [
      'spec.steps[0].verify.timeout',
      { steps: [verify({ condition: 'Reachable', for: '1h', timeout: '1m' })] },
    ],
    ['spec.steps[0].plan.plan_id', { steps: [step({ case: 'plan', value: { planId: '', type: '' } })] }],
    ['spec.steps[0].plan.type', { steps: [step({ case: 'plan', value: { planId: 'mine', type: '' } })] }],
    ['spec.steps[0].plan.type', { steps: [step({ case: 'plan', value: { planId: 'mine', type: 'X' } })] }],
    ['spec.steps[0].onboard.pool', { steps: [step({ case: 'onboard', value: { pool: '' } })] }],
    [
      'spec.steps[0].decommission.mode',
      { steps: [step({ case: 'decommission', value: { mode: 'softly' } })] },
    ],
    ['spec.steps[0].erase.overwrite', { steps: [step({ case: 'erase', value: { overwrite: 'twice' } })] }],
    [
      'spec.steps[0].enter-maintenance.exit_when_over',
      {
        steps: [step({ case: 'enterMaintenance', value: { duration: '', reason: '', exitWhenOver: true } })],
      },
    ],
    [
      'spec.steps[1].reimage',
      {
        steps: [
          step({ case: 'exitMaintenance', value: {} }),
          step({ case: 'reimage', value: { imageRef: 'a' } }),
        ],
      },
    ],
    ['spec.waves[0]', { waves: ['rest', '1'] }],
    ['spec.waves[0]', { waves: ['0'] }],
    ['spec.waves[1]', { waves: ['1', '0%'] }],
    ['spec.waves[0]', { waves: ['101%'] }],
    ['spec.waves[0]', { waves: ['some'] }],
    ['spec.waves[0]', { waves: ['-1'] }],
    ['spec.by', { by: 'phase' }],
    ['spec.by', { by: 'rack', waves: ['1'] }],
    ['spec.order', { order: ['r1'] }],
    ['spec.soak', { soak: '5 minutes' }],
    ['spec.soak', { soak: '400d' }],
    ['spec.gate', { gate: 'open' }],
    ['spec.gates[1]', { waves: ['1', '2'], gates: ['', 'open'] }],
    ['spec.gates', { gates: ['approval', 'approval'] }],
    ['spec.max_parallel', { maxParallel: '0' }],
    ['spec.max_parallel', { maxParallel: '1.5' }],
    ['spec.limits[0].max_unavailable', { limits: [{ groupBy: 'pool', filter: '', maxUnavailable: '' }] }],
    ['spec.limits[0].group_by', { limits: [{ groupBy: 'phase', filter: '', maxUnavailable: '1' }] }],
    ['spec.limits[0].filter', { limits: [{ groupBy: 'pool', filter: '(', maxUnavailable: '1' }] }],
    ['spec.limits[0].filter', { limits: [{ groupBy: 'pool', filter: 'phase=READY', maxUnavailable: '1' }] }],
    ['spec.stop.after_failures', { stop: stop({ afterFailures: -1 }) }],
    ['spec.stop.failure_percent', { stop: stop({ failurePercent: 101 }) }],
    ['spec.stop.unhealthy', { stop: stop({ unhealthy: 'conditions.Shiny=true' }) }],
    ['spec.stop.metrics[0].name', { stop: stop({ metrics: [{ name: 'shine', above: 1 }] }) }],
    ['spec.stop.metrics[0].above', { stop: stop({ metrics: [{ name: 'worker_count' }] }) }],
    ['spec.windows[0].days[0]', { windows: [{ days: ['someday'], from: '1:00', to: '2:00', timeZone: '' }] }],
    ['spec.windows[0].from', { windows: [{ days: [], from: '', to: '2:00', timeZone: '' }] }],
    ['spec.windows[0].to', { windows: [{ days: [], from: '01:00', to: '24:01', timeZone: '' }] }],
    ['spec.windows[0].time_zone', { windows: [{ days: [], from: '1:00', to: '2:00', timeZone: 'Mars/X' }] }],
    ['spec.windows[0].time_zone', { windows: [{ days: [], from: '1:00', to: '2:00', timeZone: '+02:00' }] }],
    ['spec.blackouts[0].from', { blackouts: [{ from: '2026-02-30', to: '', timeZone: '', reason: '' }] }],
    [
      'spec.blackouts[0].to',
      { blackouts: [{ from: '2026-12-24', to: '2026-12-01', timeZone: '', reason: '' }] },
    ],
    ['spec.deadline', { deadline: new Date(Number.NaN) }],
    ['spec.start_at', { startAt: new Date(Number.NaN) }],
    ['spec.deadline', { startAt: new Date('2026-12-02'), deadline: new Date('2026-12-01') }],
    ['spec.reason', { overrideBudget: true }],
    ['spec.reason', { reason: 'a\nb' }],
  ])('is refused by its field %s for %j', (field, fields) => {
    const fault = refusal(fields);
    expect(fault.kind).toBe('invalid_argument');
    expect(fault.violations.map(({ subject }) => subject)).toEqual([field]);
  });

  it('is refused with every field that is wrong', () => {
    const fault = refusal({ waves: ['no'], soak: 'no', gate: 'no', maxParallel: 'no' });
    expect(fault.violations.map(({ subject }) => subject)).toEqual([
      'spec.waves[0]',
      'spec.soak',
      'spec.gate',
      'spec.max_parallel',
    ]);
    expect(fault.message).toContain('spec.soak: must be a duration such as 30s, 5m, 2h or 1d');
  });

  it('is required', () => {
    expect(() => checkRolloutSpec(undefined, -1)).toThrow('spec is required');
  });
});

describe('a duration', () => {
  it.each([
    ['30s', 30_000, '30s'],
    ['5m', 300_000, '5m'],
    ['2h', 7_200_000, '2h'],
    ['1d', 86_400_000, '1d'],
    ['90s', 90_000, '90s'],
    ['1h30m', 5_400_000, '90m'],
    ['0s', 0, '0s'],
  ])('%s is %d ms, and is shown as %s', (text, ms, shown) => {
    expect(readDuration(text, 'soak')).toBe(ms);
    expect(durationText(ms)).toBe(shown);
  });
});
