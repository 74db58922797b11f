import pg from 'pg';
import { expect, it } from 'vitest';
import type { Keepalive } from '../../domain/agent/agent.ts';
import type { KeepaliveOutcome } from '../../store/agents/keepalive-store.ts';
import { KeepaliveLane } from './keepalive-lane.ts';

const keepaliveOf = (machineId: string): Keepalive => ({
  machineId,
  poolName: 'gpu',
  providerName: 'generic',
  agentVersion: null,
  metrics: null,
});

const refused = () => Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code: '22021' });

/** Stores what is sent, but for a machine that is called "poison". */
function laneOf() {
  const batches: string[][] = [];
  const lane = new KeepaliveLane({
    keep: async (keepalives) => {
      const ids = keepalives.map(({ machineId }) => machineId);
      batches.push(ids);
      if (ids.includes('poison')) throw refused();
      return ids.map((id): KeepaliveOutcome => ({ outcome: 'kept', agentVersion: id, at: new Date(0) }));
    },
  });
  const submit = (machineId: string) =>
    new Promise<KeepaliveOutcome>((stored, failed) =>
      lane.submit(keepaliveOf(machineId), { stored, failed }),
    );
  return { lane, batches, submit };
}

const versionOf = (outcome: KeepaliveOutcome) => (outcome.outcome === 'kept' ? outcome.agentVersion : null);

it('sends what comes together as one batch, and answers each', async () => {
  const { batches, submit } = laneOf();
  const answers = await Promise.all(['a', 'b', 'c'].map(submit));
  expect(answers.map(versionOf)).toEqual(['a', 'b', 'c']);
  expect(batches).toEqual([['a', 'b', 'c']]);
});

it('rests after a batch, so that the next one is not smaller than it need be', async () => {
  const { batches, submit } = laneOf();
  await submit('a');
  const later = [submit('b')];
  await new Promise((resolve) => setTimeout(resolve, 2));
  later.push(submit('c'));
  await Promise.all(later);
  expect(batches).toEqual([['a'], ['b', 'c']]);
});

it('does not rest while there is a full batch', async () => {
  const { batches, submit } = laneOf();
  await Promise.all(Array.from({ length: 1_200 }, (_, n) => submit(`m-${n}`)));
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 200]);
});

it('sends a machine once, and answers all of its calls', async () => {
  const { batches, submit } = laneOf();
  const answers = await Promise.all(['a', 'b', 'a'].map(submit));
  expect(answers.map(versionOf)).toEqual(['a', 'b', 'a']);
  expect(batches).toEqual([['a', 'b']]);
});

it('what the database refuses fails alone', async () => {
  const { submit } = laneOf();
  const answers = await Promise.allSettled(['a', 'poison', 'b'].map(submit));
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('an error of one caller is its own', async () => {
  const { lane, submit } = laneOf();
  const failed = new Promise((resolve) =>
    lane.submit(keepaliveOf('a'), {
      stored: () => {
        throw new Error('its own');
      },
      failed: resolve,
    }),
  );
  const other = submit('b');
  expect(await failed).toMatchObject({ message: 'its own' });
  expect(versionOf(await other)).toBe('b');
});
