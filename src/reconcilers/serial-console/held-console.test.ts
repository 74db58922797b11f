import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import type { Provider } from '../../providers/provider.ts';
import { claimConsoles } from '../../store/consoles/console-lease.ts';
import { ConsoleSignals } from '../../store/consoles/console-signals.ts';
import { Database } from '../../store/database/database.ts';
import { MachineReader } from '../../store/machines/machines.ts';
import { HeldConsole } from './held-console.ts';

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 3, onIdleError: () => {} });
  await database.run(
    'insert-machine',
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{"provider": "dc"}', 'READY')`,
  );
  await database.run('insert-console', `INSERT INTO consoles (machine_id, claim_at) VALUES ('m-1', now())`);
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});

/** Its output ends when it is closed, and not before. */
function providerWhoseConsole(isOpen: () => void): Provider {
  const console = {
    record: false,
    keptBytes: 1_000,
    maxRecorded: 0,
    async open() {
      const output = new Readable({ read() {} });
      isOpen();
      return {
        way: 'a quiet console',
        canBreak: false,
        isLeftOpen: false,
        output,
        write: async () => {},
        sendBreak: async () => {},
        close: async () => {
          output.push(null);
        },
      };
    },
  };
  return { name: 'dc', capabilities: { console } } as unknown as Provider;
}

it('ends when it is stopped between the opening of its connection and the first output', async () => {
  const [claim] = await claimConsoles(database, { owner: 'a', leaseMs: 60_000, limit: 1, which: 'all' });
  if (!claim) throw new Error('nothing was claimed');
  const held: HeldConsole = new HeldConsole(claim, {
    database,
    machines: new MachineReader(database),
    providers: new Map([['dc', providerWhoseConsole(() => held.stop())]]),
    signals: new ConsoleSignals(),
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    random: () => 0.5,
    onUnexpected: (_machineId, error) => {
      throw error;
    },
  });
  await held.over;
  expect(await database.run('state', 'SELECT state FROM consoles')).toEqual([{ state: 'open' }]);
}, 10_000);
