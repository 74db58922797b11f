import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { until } from '../../../test/parts/until.ts';
import { appendEvents } from '../events/append-events.ts';
import { Database } from './database.ts';
import { Notifications } from './notifications.ts';
import { TurnShare } from './turn-share.ts';

const OWN = 1;
const OTHER = 2;

describe('the share of turns', () => {
  const known = () => {
    const share = new TurnShare();
    share.opened(OWN);
    return share;
  };
  const commit = (share: TurnShare, ...sessions: readonly number[]) => {
    for (let turn = 0; turn < 200; turn += 1) for (const session of sessions) share.committed(session);
  };

  it('is the whole of a replica that writes alone', () => {
    const share = known();
    expect(share.value).toBe(1);
    commit(share, OWN);
    expect(share.value).toBe(1);
  });

  it('is that of its commits among all, as they are now', () => {
    const share = known();
    commit(share, OWN, OTHER, OTHER + 1, OTHER + 2);
    expect(share.value).toBeCloseTo(0.25, 1);
    commit(share, OWN, OTHER);
    expect(share.value).toBeCloseTo(0.5, 1);
    commit(share, OWN);
    expect(share.value).toBeCloseTo(1, 2);
  });

  it('hardly moves for a commit of another replica now and then', () => {
    const share = known();
    for (let turn = 0; turn < 20; turn += 1) commit(share, ...Array.from({ length: 19 }, () => OWN), OTHER);
    expect(share.value).toBeGreaterThan(0.9);
  });

  it('is the whole where no commit is known to be its own', () => {
    const share = new TurnShare();
    commit(share, OTHER);
    expect(share.value).toBe(1);
  });

  it('forgets the sessions that were closed', () => {
    const share = known();
    commit(share, OWN);
    share.closed(OWN);
    commit(share, OWN);
    expect(share.value).toBeLessThan(0.2);
  });
});

describe('of two replicas on one database', () => {
  let clone: TestDatabase;
  const replicas: Database[] = [];
  const listening: Notifications[] = [];

  beforeAll(async () => {
    clone = await cloneDatabase();
    for (let replica = 0; replica < 2; replica += 1) {
      const database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
      replicas.push(database);
      const notifications = new Notifications(database, {
        onNotice: () => {},
        onConnected: () => {},
        watch: { passed: () => {}, failed: () => {} },
      });
      listening.push(notifications);
      await notifications.start();
    }
  });
  afterAll(async () => {
    for (const notifications of listening) await notifications.stop();
    for (const database of replicas) await database.close();
    await clone?.drop();
  });

  test('each knows its own commits from those of the other', async () => {
    const [one, other] = replicas as [Database, Database];
    await append(one, 1);
    // The other has committed nothing yet, so that it is not known to be one of two.
    expect(other.turnShare.value).toBe(1);
    await append(one, 20);
    await append(other, 60);
    await until(() => (one.turnShare.value < 0.3 ? true : null));
    expect(other.turnShare.value).toBe(1);
    await append(one, 100);
    await until(() => (one.turnShare.value > 0.9 && other.turnShare.value < 0.2 ? true : null));
  });
});

async function append(database: Database, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1)
    await database.transaction((session) =>
      appendEvents(session, [
        {
          kind: 'audit',
          subject: 'a turn',
          ...{ from: '', to: '', actor: { kind: 'system', id: 'test' }, comment: '', metadata: {} },
          machineId: null,
          operationId: null,
          snapshot: null,
        },
      ]),
    );
}
