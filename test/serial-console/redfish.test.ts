/** The console of a machine with a Redfish BMC: by what the BMC offers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Console_State, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { needs } from '../parts/debian-packages.ts';
import { startBmc } from '../parts/ipmi.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { SshConsole } from '../parts/redfish/ssh-console.ts';
import { SerialLine } from '../parts/serial-line.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { openConsole } from './console-client.ts';

const USER = 'admin';
const PASSWORD = 'Quee7-zu9ohG-pass';
const dir = mkdtempSync(join(tmpdir(), 'ingot-redfish-console-'));
const key = unusedKey();
const ipmi = needs('ipmi');
let redfish: RedfishSimulator;
let ssh: SshConsole;
let server: TestServer;

beforeAll(async () => {
  redfish = await RedfishSimulator.start({ tls: null, user: USER, password: PASSWORD });
  ssh = await SshConsole.start({ user: USER, password: PASSWORD });
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const password = file('password', PASSWORD);
  const provider = (console: Readonly<Record<string, unknown>>) =>
    datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: {
        user: USER,
        password_file: password,
        timeout_seconds: 4,
        redfish: { plaintext: 'allowed' },
        console,
      },
    });
  server = await startTestServer({
    providers: {
      known: provider({ ssh_known_hosts: file('known', `[127.0.0.1]:${ssh.port} ${ssh.publicKey}\n`) }),
      stranger: provider({ ssh_known_hosts: file('stranger', '# no host\n') }),
      without: provider({}),
    },
  });
});
beforeEach(async () => {
  await server.sql('DELETE FROM console_sessions');
  redfish.serialConsole = null;
});
afterAll(async () => {
  await server?.stop();
  await ssh?.stop();
  await redfish?.stop();
  key.remove();
  rmSync(dir, { recursive: true, force: true });
});

const consoles = () => server.client(ConsoleService, server.adminToken);
const offers = (more: object = {}) => {
  redfish.serialConsole = { SSH: { ServiceEnabled: true, Port: ssh.port, ...more } };
};
async function opened(provider: string) {
  // The BMC is that of one machine at a time.
  await server.sql(`UPDATE machines SET spec = spec || '{"bmc_endpoint": ""}'`);
  const machineId = fresh('redfish');
  await server.machines.registerMachine({
    machine: { machineId, spec: { provider, bmcEndpoint: redfish.url } },
  });
  return openConsole(consoles(), machineId);
}
const problem = async (provider: string) => {
  const reader = await opened(provider);
  const seen = await until(reader.console, (now) => now?.state === Console_State.WAITING);
  await reader.leave();
  return seen;
};

test('over SSH, with the command that leads to the console, and again after it was dropped', async () => {
  offers({ SharedWithManagerCLI: true, ConsoleEntryCommand: 'start /system1/sol1' });
  const reader = await opened('known');
  await reader.shows('machine login: ');
  await until(reader.console, (seen) => seen?.way === 'SSH of the BMC');
  expect(ssh.typed).toBe('start /system1/sol1\r');
  await consoles().takeConsole({ sessionId: reader.sessionId });
  await reader.type('root\r');
  await until(() => ssh.typed.endsWith('root\r'));
  await consoles().writeConsole({ sessionId: reader.sessionId, sendBreak: true });
  await reader.shows('no break was sent');
  ssh.drop();
  await reader.shows('ended the SSH connection');
  await until(() => reader.text().split('connected: SSH of the BMC').length === 3);
  ssh.write('back again');
  await reader.shows('back again');
  await reader.leave();
});

test('over the WebSocket of an OpenBMC, by the login of its Redfish service, and again after it was dropped', async () => {
  redfish.becomes('openbmc');
  offers();
  try {
    const reader = await opened('without');
    await reader.shows('machine login: ');
    await until(reader.console, (seen) => seen?.way === 'WebSocket of the BMC');
    const second = await openConsole(consoles(), reader.console()?.machineId ?? '');
    await consoles().takeConsole({ sessionId: reader.sessionId });
    await reader.type('root\r');
    await until(() => redfish.consoleSocket?.typed === 'root\r');
    redfish.consoleSocket?.write(`grüße ${'x'.repeat(300)} end`);
    await reader.shows('x end');
    await second.shows('x end');
    expect(redfish.consoleSocket?.opened).toBe(1);
    redfish.consoleSocket?.drop('Max sessions are already connected');
    await reader.shows('ended the WebSocket of its console: Max sessions are already connected');
    await until(() => redfish.consoleSocket?.opened === 2);
    await second.leave();
    await reader.leave();
  } finally {
    redfish.becomes('standard');
  }
});

test('a BMC whose key is not known gets no password', async () => {
  offers();
  expect(await problem('stranger')).toMatchObject({ code: 'HOST_KEY_MISMATCH' });
  expect(await problem('without')).toMatchObject({
    code: 'CONSOLE_NOT_OFFERED',
    message: expect.stringContaining('bmc.console.ssh_known_hosts'),
  });
  expect(ssh.refused).toBe(0);
});

test('a service that offers none says so, and a shell of the manager is no console', async () => {
  offers({ SharedWithManagerCLI: true });
  expect(await problem('known')).toMatchObject({ code: 'CONSOLE_NOT_OFFERED' });
  redfish.serialConsole = null;
  expect(await problem('known')).toMatchObject({
    code: 'CONSOLE_NOT_OFFERED',
    message: expect.stringContaining('offers no serial console'),
  });
});

test.skipIf(ipmi.isMissing)(ipmi.title('over IPMI, where the service says so'), async () => {
  const serial = await SerialLine.start();
  const bmc = await startBmc({ serial });
  try {
    const port = Number(bmc.endpoint.split(':')[1]);
    redfish.serialConsole = { SSH: { ServiceEnabled: false }, IPMI: { ServiceEnabled: true, Port: port } };
    const reader = await opened('known');
    await until(reader.console, (seen) => seen?.way === 'SOL over IPMI');
    serial.write('over IPMI');
    await reader.shows('over IPMI');
    await reader.leave();
  } finally {
    await bmc.stop();
  }
});
