import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase } from '../../test/parts/postgres.ts';
import { type FakeState, NEW_FAKE_STATE } from '../providers/fake/fake-state.ts';
import type { FakeWorld } from '../providers/fake/fake-tasks.ts';
import { Database } from './database/database.ts';
import { createFakeWorld } from './fake-world.ts';

let database: Database;
/** Of two replicas. */
let worlds: readonly FakeWorld[];

beforeAll(async () => {
  const { url } = await cloneDatabase();
  database = new Database({ url, maxConnections: 6, onIdleError: () => {} });
  worlds = [createFakeWorld(database), createFakeWorld(database)];
});

afterAll(() => database.close());

const booted = (state: FakeState): FakeState => ({ ...state, bootCount: state.bootCount + 1 });

test('changes of two replicas to machines that neither has seen before all count', async () => {
  for (let round = 0; round < 20; round += 1) {
    const ids = Array.from({ length: 8 }, (_none, index) => `new-${round}-${index}`);
    await Promise.all(worlds.flatMap((world) => ids.map((id) => world.update(id, booted))));
    const states = await Promise.all(ids.map((id) => (worlds[0] as FakeWorld).read(id)));
    expect(states.map(({ bootCount }) => bootCount)).toEqual(ids.map(() => NEW_FAKE_STATE.bootCount + 2));
  }
});

test('a change that is refused leaves its machine alone, and the others of the batch change', async () => {
  const [world] = worlds as [FakeWorld];
  const refused = world.update('refused', () => {
    throw new Error('refused');
  });
  const changed = ['first', 'second'].map((id) => world.update(id, booted));
  await expect(refused).rejects.toThrow('refused');
  expect((await Promise.all(changed)).map(({ bootCount }) => bootCount)).toEqual([
    NEW_FAKE_STATE.bootCount + 1,
    NEW_FAKE_STATE.bootCount + 1,
  ]);
  expect(await world.read('refused')).toEqual(NEW_FAKE_STATE);
});
