import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  MachineCountsSchema,
  Wave_State,
  WaveSchema,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { displayWidth } from '../output/plain-text.ts';
import { bar, progressLines } from './progress-lines.ts';
import { CREATED, sampleRollout } from './rollout.fixture.ts';

const now = CREATED + 250_000;
const picture = (columns: number, waves = 12, rollout = sampleRollout()) =>
  progressLines(rollout, now, { columns, waves }).map(({ mark, text }) => `${mark} ${text}`);

describe('the live picture of a rollout', () => {
  it('has a line for all of it, one for each wave, and what holds it up', () => {
    expect(picture(100)).toEqual([
      ' ubuntu-24.04  RUNNING  9/181 machines  3 running  2 failed  4m 10s',
      '✓ 1 1    ██████████████████████████████ 1/1',
      '→ 2 10%  ██████████▚▚▚▒▒▒▒▒░░░░░░░░░░░░ 8/18  3 running  2 failed',
      '· 3 rest ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0/162',
      '… rack r12 has 1 of 1 machines unavailable: m-9 is in maintenance',
    ]);
  });

  it('fits 80 columns', () => {
    for (const line of picture(80)) expect(displayWidth(line)).toBeLessThan(80);
  });

  it('keeps what moves in view when there are many waves', () => {
    const waves = Array.from({ length: 50 }, (_, i) =>
      create(WaveSchema, {
        number: i + 1,
        name: `r${i + 1}`,
        state: i < 20 ? Wave_State.DONE : i === 20 ? Wave_State.RUNNING : Wave_State.WAITING,
        machines: { total: 2 },
      }),
    );
    const lines = picture(80, 4, sampleRollout({ waves, waitingFor: '' }));
    expect(lines).toHaveLength(6);
    expect(lines.map((line) => line.slice(0, 8))).toEqual([
      ' ubuntu-',
      '✓ 20 r20',
      '→ 21 r21',
      '· 22 r22',
      '· 23 r23',
      '  and 46',
    ]);
    expect(lines.at(-1)).toContain('and 46 other waves: 19 done, 27 to come');
  });

  it('says what a wave waits for', () => {
    const state = Wave_State.WAITING_FOR_APPROVAL;
    const waves = [create(WaveSchema, { number: 1, name: '1', state, gate: 'second-person' })];
    expect(picture(100, 12, sampleRollout({ waves }))[1]).toMatch(/^‖ 1 1 .* waits for second-person$/);
  });
});

describe('a bar', () => {
  const drawn = (counts: object) => bar(create(MachineCountsSchema, counts), 10);

  it('is full only when everything is done', () => {
    expect(drawn({ total: 1000, succeeded: 1000 })).toBe('██████████');
    expect(drawn({ total: 1000, succeeded: 999, pending: 1 })).toBe('█████████░');
    expect(drawn({ total: 3, succeeded: 1, skipped: 1, ineligible: 1 })).toBe('██████████');
  });

  it('shows one failure in a thousand', () => {
    expect(drawn({ total: 1000, succeeded: 999, failed: 1 })).toBe('█████████▚');
    expect(drawn({ total: 1000, failed: 1, running: 1, pending: 998 })).toBe('▚▒░░░░░░░░');
  });

  it('never has another width', () => {
    for (let total = 0; total < 40; total++)
      for (let failed = 0; failed <= total; failed++)
        for (const running of [0, Math.min(1, total - failed), total - failed])
          expect(drawn({ total, failed, running, succeeded: total - failed - running })).toHaveLength(10);
  });
});
