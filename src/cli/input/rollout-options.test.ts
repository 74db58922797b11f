import { create } from '@bufbuild/protobuf';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { type RolloutSpec, RolloutStepSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { UsageError } from '../errors/usage-error.ts';
import { addRollout } from './rollout-options.ts';
import { isDestructive } from './rollout-steps.ts';

const context = { pathOf: (file: string) => file } as CommandContext;

async function typed(...argv: string[]): Promise<RolloutSpec> {
  const command = new Command('start').exitOverride().configureOutput({ writeErr: () => {} });
  const read = addRollout(command);
  let spec: RolloutSpec | undefined;
  command.action(async () => {
    ({ spec } = await read(context, command.args, command.opts()));
  });
  await command.parseAsync(argv, { from: 'user' });
  if (spec === undefined) throw new Error('the action did not run');
  return spec;
}

describe('a rollout on the command line', () => {
  it('is a filter, a step and how fast', async () => {
    const line = [
      '--filter labels.role=web --reimage ubuntu-2404 --waves 1,10%,rest --max-parallel 20 --soak 5m',
      '--stop-after-failures 3 --stop-failure-percent 20% --stop-same-error 2 --max-unavailable location.rack=1',
      '--max-unavailable 10% --gate second-person --deadline 2026-12-01 --blackout 2026-12-24..2026-12-26',
    ];
    const spec = await typed(...line.join(' ').split(' '), '--window', 'mon,tue 09:00-16:00 Europe/Berlin');
    expect(spec).toMatchObject({
      filter: 'labels.role=web',
      machineIds: [],
      steps: [{ step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } }],
      waves: ['1', '10%', 'rest'],
      soak: '5m',
      gate: 'second-person',
      maxParallel: '20',
      limits: [
        { groupBy: 'location.rack', maxUnavailable: '1' },
        { groupBy: '', maxUnavailable: '10%' },
      ],
      stop: { afterFailures: 3, failurePercent: 20, sameError: 2 },
      windows: [{ days: ['mon', 'tue'], from: '09:00', to: '16:00', timeZone: 'Europe/Berlin' }],
      blackouts: [{ from: '2026-12-24', to: '2026-12-26' }],
      deadline: { seconds: BigInt(Date.parse('2026-12-01T00:00:00Z') / 1000) },
    });
  });

  it('has its steps in the order in which they were typed, and machines by their ids', async () => {
    const spec = await typed(
      ...'m-1 m-2 m-1 --enter-maintenance --reimage x --verify Provisioned --verify-for 30s --exit-maintenance'.split(
        ' ',
      ),
      ...'--reboot --verify presence=ready --maintenance-duration 2h --reason upgrade'.split(' '),
    );
    expect(spec.machineIds).toEqual(['m-1', 'm-2']);
    expect(spec.steps.map(({ step }) => step.case)).toEqual([
      'enterMaintenance',
      'reimage',
      'verify',
      'exitMaintenance',
      'reboot',
      'verify',
    ]);
    expect(spec.steps[0]?.step.value).toMatchObject({ duration: '2h', reason: 'upgrade' });
    expect(spec.steps[2]?.step.value).toMatchObject({ condition: 'Provisioned', filter: '', for: '30s' });
    expect(spec.steps[5]?.step.value).toMatchObject({ condition: '', filter: 'presence=ready' });
  });

  it.each([
    ['--reboot', 'which machines?'],
    ['m-1', 'what to do?'],
    ['m-1 --filter phase=READY --reboot', 'not both'],
  ])('needs machines and steps: %s', async (line, complaint) => {
    const error = await typed(...line.split(' ')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toContain(complaint);
  });

  it.each([
    '--max-parallel many',
    '--max-parallel 0',
    '--max-parallel 0%',
    '--waves 1;2',
    '--soak soon',
    '--max-unavailable location.rack=all',
    '--window nine-to-five',
    '--start-at tomorrow',
    '--stop-failure-percent 120',
    '--waves 1 --by location.rack',
  ])('refuses %s', async (line) => {
    await expect(typed('m-1', '--reboot', ...line.split(' '))).rejects.toThrow(/^error: /);
  });
});

describe('what a rollout destroys', () => {
  const step = (init: Parameters<typeof create<typeof RolloutStepSchema>>[1]) =>
    isDestructive(create(RolloutStepSchema, init));

  it('is data, or the service of machines', () => {
    expect(step({ step: { case: 'reimage', value: {} } })).toBe(true);
    expect(step({ step: { case: 'reboot', value: {} } })).toBe(false);
    expect(step({ step: { case: 'plan', value: { type: 'REBOOT' } } })).toBe(false);
    expect(step({ step: { case: 'plan', value: { type: 'REPAVE' } } })).toBe(true);
    expect(step({ step: { case: 'plan', value: { type: 'REBOOT', planId: 'of-my-own' } } })).toBe(true);
  });
});
