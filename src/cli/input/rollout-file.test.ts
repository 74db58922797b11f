import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { RolloutSpecSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { UsageError } from '../errors/usage-error.ts';
import { jsonOf } from '../output/format.ts';
import { readRollout } from './rollout-file.ts';

const read = async (text: string) =>
  (await readRollout({ name: 'rollout.yaml', bytes: Readable.from([text]) })).spec;

async function refused(text: string): Promise<string> {
  const error = await read(text).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  const { message, details } = error as UsageError;
  return [message, ...details].join('\n');
}

const UBUNTU = `
# ingot rollout preview|start -f ubuntu.yaml      (every field is in the API by the same name)
name: ubuntu-24.04
filter: labels.role=web AND phase=READY            # or machine_ids: [...]
steps:
  - enter-maintenance: { duration: 2h, reason: new image }
  - reimage: { image_ref: ubuntu-2404 }
  - verify: { condition: Provisioned, for: 30s }
  - exit-maintenance: {}
waves: [1, "10%", rest]                            # or by: location.rack
soak: 5m
gate: automatic                                    # or approval, second-person
max_parallel: 20
limits: [{ group_by: location.rack, max_unavailable: 1 }]
stop: { after_failures: 3, failure_percent: 20, same_error: 2 }
windows: [{ days: [mon, tue, wed], from: "09:00", to: "16:00", time_zone: Europe/Berlin }]
`;

describe('a rollout file', () => {
  it('is read as it is printed in the documentation', async () => {
    expect(await read(UBUNTU)).toMatchObject({
      name: 'ubuntu-24.04',
      filter: 'labels.role=web AND phase=READY',
      steps: [
        { step: { case: 'enterMaintenance', value: { duration: '2h', reason: 'new image' } } },
        { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } },
        { step: { case: 'verify', value: { condition: 'Provisioned', for: '30s' } } },
        { step: { case: 'exitMaintenance', value: {} } },
      ],
      waves: ['1', '10%', 'rest'],
      soak: '5m',
      gate: 'automatic',
      maxParallel: '20',
      limits: [{ groupBy: 'location.rack', maxUnavailable: '1' }],
      stop: { afterFailures: 3, failurePercent: 20, sameError: 2 },
      windows: [{ days: ['mon', 'tue', 'wed'], from: '09:00', to: '16:00', timeZone: 'Europe/Berlin' }],
    });
  });

  it('is also what the command line prints of a rollout', async () => {
    const spec = await read(UBUNTU);
    expect(await read(JSON.stringify(jsonOf(RolloutSpecSchema, spec)))).toEqual(spec);
  });

  it('takes steps by their names, with hyphens or underscores, with or without parameters', async () => {
    const { steps } = await read('steps: [drain, {reboot: }, {exit_maintenance: {}}, {exit-maintenance: }]');
    expect(steps.map(({ step }) => step.case)).toEqual([
      'drain',
      'reboot',
      'exitMaintenance',
      'exitMaintenance',
    ]);
  });

  it('keeps a number where a text is meant as it was written', async () => {
    const { steps, name, order, machineIds } = await read(
      '{name: 24.10, machine_ids: [7, 08], by: location.rack, order: [2, 1], steps: [{reimage: {image_ref: 24.10}}]}',
    );
    expect({ name, order, machineIds, image: steps[0]?.step.value }).toMatchObject({
      name: '24.10',
      machineIds: ['7', '08'],
      order: ['2', '1'],
      image: { imageRef: '24.10' },
    });
  });

  it.each(['waves: {by: location.rack, order: [r2]}', 'by: location.rack\norder: [r2]'])(
    'groups waves by a field: %j',
    async (text) => {
      expect(await read(text)).toMatchObject({ waves: [], by: 'location.rack', order: ['r2'] });
    },
  );

  it('takes times, percentages, lists as one text, and metrics', async () => {
    const text = `
start_at: 2026-11-01T12:00:00+01:00
deadline: 2026-12-01
waves: 1, 10%, rest
stop: {failure_percent: 20%, pool_degraded: true, metrics: [{name: load, above: 1.5, below: -1}]}`;
    expect(await read(text)).toMatchObject({
      startAt: { seconds: BigInt(Date.parse('2026-11-01T11:00:00Z') / 1000) },
      deadline: { seconds: BigInt(Date.parse('2026-12-01T00:00:00Z') / 1000) },
      waves: ['1', '10%', 'rest'],
      stop: { failurePercent: 20, poolDegraded: true, metrics: [{ name: 'load', above: 1.5, below: -1 }] },
    });
  });

  it('refuses an unknown field with its line and the nearest known name', async () => {
    expect(await refused('name: x\nmax_paralel: 3\n')).toMatch(
      /^rollout\.yaml:2: max_paralel: unknown field; did you mean max_parallel\? The fields are name, filter, /,
    );
    expect(await refused('steps:\n  - reimag: {}\n')).toContain(
      'rollout.yaml:2: steps[0].reimag: unknown field; did you mean reimage? The fields are enter-maintenance,',
    );
    expect(await refused('steps:\n  - drian\n')).toContain('did you mean drain?');
    expect(await refused('waves: {bye: x}')).toContain('rollout.yaml:1: waves.bye: unknown field');
  });

  it.each([
    ['steps:\n  - {reboot: {}, drain: {}}', 'rollout.yaml:2: steps[0].drain: reboot is set already'],
    ['by: x\nwaves: {by: y}', 'rollout.yaml:2: waves.by: by is set already'],
    ['limits: {group_by: pool}', 'rollout.yaml:1: limits must be a list'],
    ['stop: {after_failures: many}', 'stop.after_failures must be a whole number'],
    ['follow: maybe', 'follow must be true or false'],
    ['start_at: tomorrow', 'start_at must be a time such as 2026-11-01T12:00:00Z'],
    ['soak: [5m]', 'soak must be a text'],
    ['steps: [7]', 'steps[0] must have fields: enter-maintenance'],
    ['- reboot', 'a rollout must have fields: name, filter'],
    ['', 'rollout.yaml: is empty'],
    ['name: a\n---\nname: b', 'rollout.yaml:2: a second YAML document starts here; a file holds one rollout'],
    ['name: [a', 'rollout.yaml:1: '],
  ])('refuses %j', async (text, complaint) => {
    expect(await refused(text)).toContain(complaint);
  });

  it('reports all mistakes at once', async () => {
    expect(await refused('nam: x\nsok: 5m\n')).toMatch(
      /^rollout\.yaml: 2 mistakes\nrollout\.yaml:1: nam.*\nrollout\.yaml:2: sok/,
    );
  });
});
