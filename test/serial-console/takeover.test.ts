// @module-tag extended: turns.test.ts has who types; this kills the replica that holds the connection.
/** A replica that holds a console is killed or frozen: another one goes on, and readers miss nothing that came after. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { bmcFields, ipmitoolsOfOurs, unusedKey } from '../datacenter/bmc-site.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { SerialLine } from '../parts/serial-line.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type OpenConsole, openConsole } from './console-client.ts';

const programs = needs('ipmi');
const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));
const LEASE_MS = 2_000;
const MACHINE = 'taken-1';

describe.skipIf(programs.isMissing)(programs.title('the holder of a console'), () => {
  const key = unusedKey();
  const dir = mkdtempSync(join(tmpdir(), 'ingot-takeover-'));
  let serial: SerialLine;
  let bmc: IpmiBmc;
  let database: TestDatabase;
  let holder: ChildProcess | null = null;
  let server: TestServer;

  const bmcSection = () => bmcFields(bmc);
  const provider = () =>
    datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      // It records nothing that no one reads, and so leaves the console to the other replica at first.
      bmc: { ...bmcSection(), console: { record: true, max_recorded: 0 } },
    });

  /** A process of its own, which records every console. */
  function startHolder(): ChildProcess {
    const config = join(dir, 'ingot.json');
    const ssh = { user: 'root', private_key_file: key.file, insecure_accept_any: true };
    const bmcWithRecord = { ...bmcSection(), console: { record: true } };
    writeFileSync(
      config,
      JSON.stringify({ providers: { 'dc-1': { kind: 'datacenter', ssh, bmc: bmcWithRecord } } }),
    );
    const args = ['serve', '--data-dir', dir, '--http-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0'];
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: database.url,
        INGOT_CONFIG: config,
        INGOT_LEASE_MS: String(LEASE_MS),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    process.once('exit', () => child.kill('SIGKILL'));
    return child;
  }

  const owner = async () => {
    const [row] = await server.sql<{ owner: string | null; state: string; epoch: number }>(
      'SELECT owner, state, epoch::int FROM consoles WHERE machine_id = $1',
      [MACHINE],
    );
    return row ?? { owner: null, state: '', epoch: 0 };
  };

  /** Twice: ipmi_sim takes the first packet of a session for a repetition where the last one ended with the same number. */
  const typed = async (reader: OpenConsole, text: string) => {
    for (const line of [`${text}\r`, `${text} again\r`]) {
      await reader.type(line);
      await until(() => serial.typed.endsWith(line));
    }
  };

  /** A machine without a BMC is not recorded any more. */
  const setEndpoint = (endpoint: string) =>
    server.sql(`UPDATE machines SET spec = spec || jsonb_build_object('bmc_endpoint', $1::text)`, [endpoint]);

  beforeAll(async () => {
    serial = await SerialLine.start();
    bmc = await startBmc({ serial });
    database = await cloneDatabase();
    server = await startTestServer({ database, leaseMs: LEASE_MS, providers: { 'dc-1': provider() } });
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint };
    await server.machines.registerMachine({ machine: { machineId: MACHINE, spec } });
  });
  afterAll(async () => {
    holder?.kill('SIGKILL');
    await server?.stop();
    await database?.drop();
    await bmc?.stop();
    key.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  test.each([{ fault: 'SIGKILL' }, { fault: 'SIGSTOP' }] as const)(
    '$fault: another replica connects again, and readers go on',
    { tags: ['extended'], timeout: 120_000 },
    async ({ fault }) => {
      holder = startHolder();
      await setEndpoint(bmc.endpoint);
      const held = await until(
        owner,
        ({ owner: by, state }) => state === 'open' && by?.includes(`-${holder?.pid}-`),
      );
      const consoles = server.client(ConsoleService, server.adminToken);
      const reader = await openConsole(consoles, MACHINE, { tailBytes: 1000 });
      serial.write(`before ${fault}\r\n`);
      await reader.shows(`before ${fault}`);
      await consoles.takeConsole({ sessionId: reader.sessionId, steal: true });
      await typed(reader, 'from another replica');
      holder.kill(fault);
      await until(
        owner,
        ({ owner: by, state, epoch }) => state === 'open' && by !== held.owner && epoch > held.epoch,
      );
      expect(ipmitoolsOfOurs().length).toBe(1);
      serial.write(`after ${fault}\r\n`);
      await reader.shows(`after ${fault}`);
      await typed(reader, `typed after ${fault}`);
      if (fault === 'SIGSTOP') {
        holder.kill('SIGCONT');
        serial.write('only once\r\n');
        await reader.shows('only once');
        await until(() => reader.text().split('only once').length === 2);
      }
      holder.kill('SIGKILL');
      await reader.leave();
      await consoles.closeConsole({ sessionId: reader.sessionId });
      await setEndpoint('');
      await until(owner, ({ owner: by }) => by === null);
    },
  );
});
