import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../machine/machine.fixture.ts';
import { upstreamView } from './upstream-view.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const LATER = new Date('2026-01-01T01:00:00.000Z');
const EARLIER = new Date('2025-12-31T23:00:00.000Z');
const observed = { source: 'site-a', state: 'Broken', power: 'off', upstreamId: 'x', at: SINCE };
const machine = sampleMachine({ machineId: 'm-1', service: 'quarantined', observed });

describe('the upstream view of a machine', () => {
  it('is nothing where there is none', () => {
    expect(upstreamView(sampleMachine(), { readAt: LATER, unread: [], failure: '' })).toBeNull();
  });

  it('was seen by the last complete sweep, also where that found nothing new', () => {
    expect(upstreamView(machine, { readAt: LATER, unread: [], failure: '' })).toMatchObject({
      state: 'Broken',
      since: new Date(SINCE),
      seenAt: LATER,
      expected: ['Deployed'],
      disagreement: 'site-a says Broken, and a node that is active should be Deployed',
    });
  });

  it('was seen when it was recorded where no sweep has read it since', () => {
    const failure = 'site-a does not answer';
    for (const read of [
      undefined,
      { readAt: EARLIER, unread: [], failure },
      { readAt: LATER, unread: ['m-1'], failure },
      { readAt: null, unread: [], failure },
    ]) {
      expect(upstreamView(machine, read)).toMatchObject({
        seenAt: new Date(SINCE),
        failure: read?.failure ?? '',
      });
    }
  });
});
