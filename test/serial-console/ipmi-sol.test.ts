// @module-tag extended: redfish.test.ts has a console over SSH, turns.test.ts who types, qemu.test.ts the same BMC.
/** The console of a machine whose BMC is ipmi_sim: SOL, through a real server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Console_State, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { bmcFields, ipmitoolsOfOurs, unusedKey } from '../datacenter/bmc-site.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { SerialLine } from '../parts/serial-line.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { openConsole } from './console-client.ts';

const programs = needs('ipmi');

describe.skipIf(programs.isMissing)(programs.title('SOL over IPMI'), () => {
  let serial: SerialLine;
  let bmc: IpmiBmc;
  let server: TestServer;
  const key = unusedKey();
  const others: ChildProcess[] = [];

  const provider = (of: IpmiBmc, console: Readonly<Record<string, unknown>> = {}) =>
    datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: { ...bmcFields(of), console },
    });
  const consoles = (of = server) => of.client(ConsoleService, of.adminToken);
  const registered = async (bmcEndpoint: string, name = 'dc-1') => {
    const machineId = fresh('sol-machine');
    await server.machines.registerMachine({ machine: { machineId, spec: { provider: name, bmcEndpoint } } });
    return machineId;
  };
  const waiting = (machineId: string) =>
    until(
      () => consoles().getConsole({ machineId }),
      ({ state }) => state === Console_State.WAITING,
    );
  /** Another client of the same BMC. */
  const otherClient = async () => {
    const { args, env } = clientOf(bmc);
    const child = spawn('ipmitool', [...args, 'sol', 'activate'], { env, stdio: ['pipe', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
    });
    others.push(child);
    await until(() => said.includes('tcgetattr'));
    return child;
  };

  beforeAll(async () => {
    serial = await SerialLine.start();
    bmc = await startBmc({ serial });
    server = await startTestServer({
      providers: { 'dc-1': provider(bmc), recorded: provider(bmc, { record: true, keep_kib: 16 }) },
    });
  });
  afterEach(async () => {
    for (const other of others.splice(0)) other.kill('SIGKILL');
    // The BMC is that of one machine at a time.
    await server.sql('DELETE FROM console_sessions');
    await server.sql(`UPDATE machines SET spec = spec || '{"bmc_endpoint": ""}'`);
    await until(ipmitoolsOfOurs, (left) => left.length === 0);
  });
  afterAll(async () => {
    await server?.stop();
    await bmc?.stop();
    key.remove();
  });

  test('what the machine writes is shown, and what is typed reaches it', async () => {
    const machineId = await registered(bmc.endpoint);
    const reader = await openConsole(consoles(), machineId);
    const writer = await openConsole(consoles(), machineId);
    await until(reader.console, (seen) => seen?.state === Console_State.OPEN);
    expect(reader.console()?.way).toBe('SOL over IPMI');
    serial.write('[    0.000000] Linux version 6.1\r\nlocalhost login: ');
    await reader.shows('localhost login: ');
    await writer.shows('localhost login: ');
    await consoles().takeConsole({ sessionId: writer.sessionId });
    await writer.type('root\r');
    await until(() => serial.typed === 'root\r');
    // What would be an escape of ipmitool is what the machine reads.
    await writer.type('~.\r~.\r\x1d.\x1dB\r\x1d?');
    await until(() => serial.typed === 'root\r~.\r~.\r\x1d.\x1dB\r\x1d?');
    await consoles().writeConsole({ sessionId: writer.sessionId, sendBreak: true });
    // ipmi_sim writes a break as telnet does.
    await until(() => serial.typed.includes('\xff\xf3'));
    serial.write('sysrq: HELP\r\n');
    await reader.shows('sysrq: HELP');
    expect(reader.text()).not.toContain('SOL Session operational');
    expect(reader.text()).not.toContain('send break');
    const [program] = ipmitoolsOfOurs();
    expect(program?.commandLine).not.toContain(bmc.password);
    await reader.leave();
    await writer.leave();
  });

  test('a console is recorded from when its machine is registered on, bounded, without secrets', async () => {
    const machineId = await registered(bmc.endpoint, 'recorded');
    await until(
      () => consoles().getConsole({ machineId }),
      ({ state, recorded }) => state === Console_State.OPEN && recorded,
    );
    serial.write('Kernel command line: ingot.token=S3cret-Token ingot.url=http://x\r\n');
    serial.write('GET http://x/boot/once/An0ther.Secret/installer.efi\r\n');
    const logged = async () => consoles().getConsoleLog({ machineId });
    const log = await until(logged, ({ data }) => Buffer.from(data).includes('installer.efi'));
    const text = Buffer.from(log.data).toString('latin1');
    expect(text).toContain('ingot.token=*** ingot.url=http://x');
    expect(text).toContain('/boot/once/***/installer.efi');
    expect(log.droppedBytes).toBe(0n);
    for (let line = 0; line < 1000; line += 1)
      serial.write(`${String(line).padStart(4, '0')} ${'x'.repeat(90)}\r\n`);
    const full = await until(logged, ({ data }) => Buffer.from(data).includes('0999 xxx'));
    expect(full.droppedBytes).toBeGreaterThan(20_000n);
    expect(full.offset).toBe(full.droppedBytes);
    expect(full.data.length).toBeLessThan(16 * 1024 + 64 * 1024 + 16 * 1024);
    // A reader who is behind sees how much it missed.
    const behind = await openConsole(consoles(), machineId, { offset: 0n });
    await behind.shows('0999 xxx');
    expect(behind.dropped()).toBe(full.droppedBytes);
    await behind.leave();
  });

  test('a console that another client has is left to it, unless it is to be taken over', async () => {
    await otherClient();
    const machineId = await registered(bmc.endpoint);
    const reader = await openConsole(consoles(), machineId);
    await waiting(machineId);
    const found = await consoles().getConsole({ machineId });
    expect(found).toMatchObject({ code: 'CONSOLE_IN_USE', message: expect.stringContaining('--steal') });
    expect(found.retryAt).toBeDefined();
    await reader.shows('[ingot ');
    await consoles().takeConsole({ sessionId: reader.sessionId, steal: true });
    await until(reader.console, (seen) => seen?.state === Console_State.OPEN);
    await reader.type('mine\r');
    await until(() => serial.typed.includes('mine\r'));
    await reader.leave();
  });

  test('a BMC that is away is waited for, and a connection that is lost is made again', {
    timeout: 90_000,
  }, async () => {
    const machineId = await registered(bmc.endpoint);
    bmc.freeze();
    const reader = await openConsole(consoles(), machineId);
    const away = await waiting(machineId);
    expect(away).toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('does not answer') });
    bmc.thaw();
    await until(reader.console, (seen) => seen?.state === Console_State.OPEN);
    const [program] = ipmitoolsOfOurs();
    process.kill(program?.pid ?? 0, 'SIGKILL');
    await until(() => reader.text().split('connected: SOL over IPMI').length === 3);
    serial.write('still here\r\n');
    await reader.shows('still here');
    await reader.leave();
  });

  test('a refused login and a BMC without SOL are said in words', async () => {
    const plain = await startBmc();
    onTestFinished(() => plain.stop());
    const without = await registered(plain.endpoint);
    const reader = await openConsole(consoles(), without);
    expect(await waiting(without)).toMatchObject({
      code: 'CONSOLE_NOT_OFFERED',
      message: expect.stringContaining('has no SOL'),
    });
    await reader.leave();
    writeFileSync(bmc.passwordFile, 'not-the-password\n');
    onTestFinished(() => writeFileSync(bmc.passwordFile, `${bmc.password}\n`));
    const machineId = await registered(bmc.endpoint);
    const refused = await openConsole(consoles(), machineId);
    expect(await waiting(machineId)).toMatchObject({
      code: 'AUTHENTICATION_FAILED',
      message: expect.stringContaining('does not accept our user and password'),
    });
    await refused.leave();
    expect(server.logged.join('')).not.toContain('not-the-password');
  });
});

function clientOf({ endpoint, user, password }: IpmiBmc) {
  const [host = '', port = ''] = endpoint.split(':');
  const args = ['-I', 'lanplus', '-C', '3', '-H', host, '-p', port, '-U', user, '-E'];
  return { args, env: { PATH: process.env.PATH, LC_ALL: 'C', IPMITOOL_PASSWORD: password } };
}
