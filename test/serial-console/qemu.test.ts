/**
 * The console of a real machine: a kernel that boots in QEMU, its power and its serial line behind ipmi_sim. More of what
 * test/serial-console/ipmi-sol.test.ts shows.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console_State, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { launch } from '../cli/harness.ts';
import { bmcFields, unusedKey } from '../datacenter/bmc-site.ts';
import { ipmitool } from '../netboot/ipmitool.ts';
import { bootObstacle, makeShellBoot } from '../parts/boot-images.ts';
import { freePort } from '../parts/free-port.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { openConsole } from './console-client.ts';

const obstacle = process.env.INGOT_LONG_TESTS === '1' ? await bootObstacle() : 'needs INGOT_LONG_TESTS=1';
const BOOT_MS = 180_000;
const TOKEN = 'Boot-Token-0f3a';

describe.skipIf(obstacle !== null)(
  `the serial console of a machine in QEMU${obstacle ? ` (${obstacle})` : ''}`,
  () => {
    const key = unusedKey();
    const dir = mkdtempSync(join(tmpdir(), 'ingot-serial-'));
    let bmc: IpmiBmc;
    let server: TestServer;

    beforeAll(async () => {
      const { kernel, initramfs } = await makeShellBoot(dir);
      const port = await freePort();
      // It starts when the BMC listens to its serial line, so that no byte is missed.
      const machine = `exec qemu-system-x86_64 -accel tcg -m 256 -display none -monitor none -nic none -no-reboot \\
      -chardev socket,id=s0,host=127.0.0.1,port=${port},server=on,wait=on -serial chardev:s0 \\
      -kernel '${kernel}' -initrd '${initramfs}' -append 'console=ttyS0 ingot.token=${TOKEN}'`;
      bmc = await startBmc({ machine, serial: { port, connected: async () => {}, stop: async () => {} } });
      const configuration = datacenterConfiguration.parse({
        kind: 'datacenter',
        ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
        bmc: { ...bmcFields(bmc), console: { record: true } },
      });
      server = await startTestServer({ providers: { 'dc-1': configuration } });
    }, BOOT_MS);
    afterAll(async () => {
      await server?.stop();
      await bmc?.stop();
      key.remove();
      rmSync(dir, { recursive: true, force: true });
    });

    test('is recorded from boot on, read by two and written by one, and survives a power cycle', {
      timeout: 3 * BOOT_MS,
    }, async () => {
      const machineId = 'qemu-1';
      const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint };
      await server.machines.registerMachine({ machine: { machineId, spec } });
      const consoles = server.client(ConsoleService, server.adminToken);
      const log = async () => {
        const { data } = await consoles.getConsoleLog({ machineId });
        return Buffer.from(data).toString('latin1');
      };
      const boots = (text: string) => text.split('Linux version').length - 1;
      await until(
        () => consoles.getConsole({ machineId }),
        ({ state }) => state === Console_State.OPEN,
      );
      await ipmitool(bmc, 'chassis', 'power', 'on');
      // No one reads it.
      const first = await until(log, (text) => text.includes('the machine is up'), BOOT_MS);
      expect(boots(first)).toBe(1);
      expect(first).toContain('ingot.token=***');
      expect(first).not.toContain(TOKEN);

      const reader = await openConsole(consoles, machineId, { tailBytes: 100_000 });
      await reader.shows('the machine is up');
      const env = { INGOT_TOKEN: server.adminToken };
      const cli = launch(server.grpcAddress, `console ${machineId}`, { env, isTerminal: true, answer: '' });
      await until(() => cli.stderr.text.includes('[you write]'));
      cli.stdin.write('echo $((6*7))-typed\r');
      await until(() => cli.stdout.text.includes('42-typed'), Boolean, BOOT_MS);
      await until(() => reader.text().includes('42-typed'));
      cli.stdin.write('\r~.');
      expect((await cli.ended).code).toBe(0);
      await reader.leave();

      await ipmitool(bmc, 'chassis', 'power', 'off');
      await until(() => !bmc.isOn());
      await ipmitool(bmc, 'chassis', 'power', 'on');
      const again = await until(log, (text) => boots(text) === 2, BOOT_MS);
      expect(again).toContain('42-typed');
      expect(again).not.toContain(TOKEN);
    });
  },
);
