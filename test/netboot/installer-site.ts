/** A machine in QEMU behind a real BMC, and a server whose installer it boots. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { bmcFields, unusedKey } from '../datacenter/bmc-site.ts';
import { buildTestInstaller } from '../parts/boot-images.ts';
import { freePort } from '../parts/free-port.ts';
import { startBmc } from '../parts/ipmi.ts';
import { createQemuMachine, type QemuMachine } from '../parts/qemu.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

export interface InstallerSite {
  readonly server: TestServer;
  readonly machine: QemuMachine;
  stop(): Promise<void>;
}

/** The machine is registered with this id. */
export async function startInstallerSite(
  machineId: string,
  disks: { readonly diskMiB: number; readonly nvmeMiB: number },
): Promise<InstallerSite> {
  const cleanups: (() => unknown)[] = [];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const dataDir = mkdtempSync(join(tmpdir(), 'ingot-installer-site-'));
    cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const key = unusedKey();
    cleanups.push(() => key.remove());
    await buildTestInstaller(join(dataDir, 'boot', 'installer'));
    const port = await freePort();
    const machine = createQemuMachine({ serverPort: port, ...disks });
    cleanups.push(() => machine.destroy());
    const bmc = await startBmc({ machine: machine.script });
    cleanups.push(() => bmc.stop());
    const dc = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: bmcFields(bmc),
    });
    const server = await startTestServer({ dataDir, httpPort: port, providers: { 'dc-1': dc } });
    cleanups.push(() => server.stop());
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint, macAddresses: [machine.mac] };
    await server.machines.registerMachine({ machine: { machineId, spec } });
    return { server, machine, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
