import { Writable } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { RolloutPreviewSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { writeList } from '../output/format.ts';
import { TextSink } from '../output/text-sink.ts';
import { CREATED, sampleRollout } from '../rollouts/rollout.fixture.ts';
import { writePreview } from './preview-rendering.ts';
import { rolloutRendering, writeRolloutDetail } from './rollout-rendering.ts';

const now = CREATED + 250_000;

/** What `write` has written. */
async function shown(write: (sink: TextSink) => unknown): Promise<string> {
  let text = '';
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  await write(new TextSink(stream, {}));
  return text;
}

describe('a rollout', () => {
  it('is shown with waves, what holds it up, failures with their retry, limits and history', async () => {
    expect(await shown((sink) => writeRolloutDetail(sink, 'ingot', sampleRollout(), now))).toBe(`\
Rollout:     ro-7
Name:        ubuntu-24.04
State:       RUNNING
Waits for:   rack r12 has 1 of 1 machines unavailable: m-9 is in maintenance
Steps:       enter-maintenance(2h) → reimage(ubuntu-2404) → exit-maintenance
Where:       labels.role=web
Machines:    181 machines: 7 succeeded, 2 failed, 3 running, 169 pending
Created:     2026-01-30T10:00:00Z by operator:bob
Why:         new image
Started:     2026-01-30T10:00:00Z
Finished:    -
Duration:    4m 10s

WAVE  NAME  STATE    DONE   RUNNING  FAILED  GATE
1     1     DONE     1/1    0        0       automatic
2     10%   RUNNING  8/18   3        2       approval, by operator:ann
3     rest  WAITING  0/162  0        0       second-person (rule prod)

Failures:
  2 machines with NETBOOT_TIMEOUT, such as m-3: no boot in 10m
    retry: ingot rollout retry ro-7 --error-code NETBOOT_TIMEOUT

Limits:
  max_parallel: 3 of 20
  limit location.rack: 1 of 1 in r12

TIME                  ACTION   BY            DETAIL  REASON
2026-01-30T10:00:00Z  create   operator:bob  -       new image
2026-01-30T10:01:20Z  approve  operator:ann  wave 2  -
`);
  });

  it('is one line of a list', async () => {
    const list = await shown((sink) => writeList(sink, 'table', rolloutRendering(now), [[sampleRollout()]]));
    expect(list).toBe(`\
ROLLOUT_ID  NAME          STATE    WAVE  DONE   FAILED  AGE  WAITING_FOR
ro-7        ubuntu-24.04  RUNNING  2/3   9/181  2       4m   rack r12 has 1 of 1 machines unavailable: m-9 is in maintenance
`);
  });
});

describe('a preview', () => {
  it('tells everything', async () => {
    const { spec } = sampleRollout();
    const preview = create(RolloutPreviewSchema, {
      ...(spec && { spec }),
      total: 181,
      eligible: 180,
      waves: [
        { number: 1, name: '1', machines: 1, machineIds: ['m-1'], gate: 'automatic' },
        {
          number: 2,
          name: 'rest',
          machines: 179,
          machineIds: ['m-2', 'm-3', 'm-4', 'm-5'],
          gate: 'second-person',
          approvalRule: 'prod',
        },
      ],
      ineligible: [{ errorCode: 'WRONG_PHASE', message: 'm-9 is NEW', machines: 1, machineIds: ['m-9'] }],
      limits: [
        {
          use: { name: 'racks', kind: 'budget', group: 'r12', used: 1, limit: 1 },
          occupiedBy: ['m-7'],
          message: 'machines of r12 wait',
        },
      ],
      estimate: { p50Seconds: 300n, p90Seconds: 725n, samples: 120, unknownSteps: ['verify'] },
      warnings: ['no stop rule'],
      refusals: ['budget needs a reason'],
    });
    expect(await shown((sink) => writePreview(sink, preview, now))).toBe(`\
ubuntu-24.04: enter-maintenance(2h) → reimage(ubuntu-2404) → exit-maintenance
180 of 181 machines in 2 waves (labels.role=web)

WAVE  NAME  MACHINES  GATE                       WHICH
1     1     1         automatic                  m-1
2     rest  179       second-person (rule prod)  m-2, m-3, m-4 and 176 more

Left out:
  1 machine with WRONG_PHASE: m-9 is NEW (m-9)

Limits:
  budget racks: 1 of 1 in r12, occupied by m-7: machines of r12 wait

Takes about 5m 0s, 9 of 10 times at most 12m 5s (from 120 operations; no history of verify)

Warnings:
  no stop rule

Would be refused:
  budget needs a reason
`);
  });
});
