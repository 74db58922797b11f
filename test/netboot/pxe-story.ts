/**
 * The whole story on a real machine: it boots from the network with an empty disk, is discovered, approved, installed
 * with a qcow2 image, boots from disk and phones home, and its hardware is known; a REIMAGE puts another image on it; an
 * image whose bytes are not what its digest says fails three times; at last its disks are erased. Nothing serves it but
 * Ingot; its power is behind a real IPMI BMC. The test checks each chapter, and the demo prints it.
 */
import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesText } from '../../src/domain/agent/metric-text.ts';
import { hardwareLines } from '../../src/domain/install/hardware-text.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { bmcFields, unusedKey } from '../datacenter/bmc-site.ts';
import { call, nodeOf } from '../nodes/rest.ts';
import { buildTestInstaller, type DiskImage, makeDiskImage, qcow2Of } from '../parts/boot-images.ts';
import { freePort } from '../parts/free-port.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { createQemuMachine, type QemuMachine } from '../parts/qemu.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ipmitool } from './ipmitool.ts';

/** Machines that others run at the same time make it slow. */
const CHAPTER_MS = 300_000;

export interface PxeSite {
  readonly server: TestServer;
  readonly dataDir: string;
  readonly bmc: IpmiBmc;
  readonly machine: QemuMachine;
  readonly images: Readonly<Record<'first' | 'second', DiskImage>>;
  stop(): Promise<void>;
}

export type Print = (line: string) => void;

export async function openPxeSite(print: Print): Promise<PxeSite> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-pxe-'));
  const cleanups: Array<() => Promise<void> | void> = [
    () => rmSync(dataDir, { recursive: true, force: true }),
  ];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    print('building the installer and two disk images');
    await buildTestInstaller(join(dataDir, 'boot', 'installer'));
    const images = {
      first: asQcow2(await makeDiskImage({ version: 'first-1.0', afterReport: 'stay' })),
      second: await makeDiskImage({ version: 'second-2.0', afterReport: 'stay' }),
    };
    const key = unusedKey();
    cleanups.push(() => key.remove());
    // The BMC needs the machine, the machine the server's port, and the server the BMC's password.
    const port = await freePort();
    const machine = createQemuMachine({ serverPort: port, idleCard: 'first', nvmeMiB: 96 });
    cleanups.push(() => machine.destroy());
    const bmc = await startBmc({ machine: machine.script });
    cleanups.push(() => bmc.stop());
    const configuration = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: bmcFields(bmc),
    });
    const server = await startTestServer({
      dataDir,
      httpPort: port,
      providers: { 'dc-1': configuration },
      netboot: { provider: 'dc-1' },
    });
    cleanups.push(() => server.stop());
    await addImage(server, 'first-1.0', images.first);
    await addImage(server, 'second-2.0', images.second);
    await call(server, 'POST', '/workflows', { name: 'first', image: { name: 'first-1.0' } });
    return { server, dataDir, bmc, machine, images, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function asQcow2({ raw }: DiskImage): DiskImage {
  const packed = qcow2Of(raw, ['-c']);
  return { raw, packed, sha256: createHash('sha256').update(packed).digest('hex') };
}

async function addImage(server: TestServer, name: string, { packed, sha256 }: DiskImage): Promise<void> {
  const PIECE = 8 * 1024 * 1024;
  for (let start = 0; start < packed.length; start += PIECE) {
    const bytes = packed.subarray(start, start + PIECE);
    const answer = await fetch(`${server.httpUrl}/api/v1/images/${name}/content?sha256=${sha256}`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-type': 'application/octet-stream',
        'content-range': `bytes ${start}-${start + bytes.length - 1}/${packed.length}`,
      },
      body: new Uint8Array(bytes),
    });
    if (!answer.ok) throw new Error(`the image was not taken: ${await answer.text()}`);
  }
}

/** What the machine shows on its console is the best account of why something did not happen. */
async function untilOn<Value>(
  site: PxeSite,
  what: string,
  read: () => Promise<Value>,
  holds: (value: Value) => boolean,
): Promise<Value> {
  return until(read, holds, CHAPTER_MS).catch((cause) => {
    throw new Error(`not in time: ${what}; console:\n${site.machine.serial().slice(-3000)}`, { cause });
  });
}

export async function discoverMachine(site: PxeSite, print: Print): Promise<string> {
  const { server, bmc, machine } = site;
  print(`power on over IPMI, booting from the network with an empty disk (${machine.mac})`);
  await ipmitool(bmc, 'chassis', 'bootdev', 'pxe');
  await ipmitool(bmc, 'chassis', 'power', 'on');
  const { body } = await untilOn(
    site,
    'the machine is discovered',
    () => call(server, 'GET', `/nodes?mac=${machine.mac}`),
    (answer) => answer.body.total === 1,
  );
  const { id, state } = body.data[0];
  print(`${id} is ${state}`);
  return id;
}

export async function installMachine(site: PxeSite, id: string, print: Print): Promise<void> {
  const { server } = site;
  await call(server, 'PATCH', `/nodes/${id}`, { workflow: 'first' });
  await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending', comment: 'approved' });
  print(
    `approved ${id} with workflow first and its image first-1.0, ${await imageText(server, 'first-1.0')}`,
  );
  const seen = new Set<string>();
  await untilOn(
    site,
    'the machine is installed',
    async () => {
      const node = await nodeOf(server, id);
      const line = `${node.state}${node.state === 'installing' ? ` ${node.install_progress}%` : ''}`;
      if (!seen.has(line)) print(`  ${line}`);
      seen.add(line);
      return node;
    },
    ({ state }) => state === 'installed',
  );
  await phonesHome(site, id, 'first-1.0');
  print('it booted from its disk and phoned home: first-1.0');
  await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'active', comment: 'verified' });
  print(`${id} is active`);
}

/** What the installer found in the machine while it installed it. */
export async function showInventory(site: PxeSite, id: string, print: Print) {
  const { inventory } = await nodeOf(site.server, id);
  print(`its inventory, from the ${inventory.source} at ${inventory.reported_at}:`);
  for (const [label, text] of hardwareLines(inventory)) print(`  ${label}: ${text}`);
  return inventory;
}

/** The system on the disk reports its version as its name, and the name that a node has stays; so it is taken off. */
async function phonesHome(site: PxeSite, id: string, version: string): Promise<void> {
  await untilOn(
    site,
    `${version} phones home`,
    async () => {
      const node = await nodeOf(site.server, id);
      if (node.hostname !== null && node.hostname !== version) {
        await call(site.server, 'PATCH', `/nodes/${id}`, { hostname: '' });
      }
      return node;
    },
    ({ hostname }) => hostname === version,
  );
}

export async function reimageMachine(site: PxeSite, id: string, print: Print) {
  const { server, bmc } = site;
  await server.machines.updateMachine({
    machine: { machineId: id, spec: { bmcEndpoint: bmc.endpoint } },
    updateMask: { paths: ['spec.bmc_endpoint'] },
  });
  await endOf(
    site,
    await server.machines.enterMaintenance({ machineId: id, requestId: 'maintenance' }),
    print,
  );
  const started = await server.machines.reimageMachine({
    machineId: id,
    requestId: 'reimage-second',
    imageRef: 'second-2.0',
  });
  print(`REIMAGE ${started.operationId} with second-2.0, ${await imageText(server, 'second-2.0')}`);
  const operation = await endOf(site, started, print);
  await phonesHome(site, id, 'second-2.0');
  print('it booted from its disk and phoned home: second-2.0');
  return operation;
}

async function imageText(server: TestServer, name: string): Promise<string> {
  const { body } = await call(server, 'GET', `/images/${name}`);
  const { format, size_bytes: bytes, virtual_size_bytes: disk } = body.data;
  const ofDisk = disk === null ? '' : ` of a disk of ${bytesText(disk)}`;
  return `a ${format} image of ${bytesText(bytes)}${ofDisk}`;
}

/** The bytes on the server are no longer those of the digest: no machine may ever write them. */
export function corruptImage({ dataDir }: PxeSite, sha256: string, print: Print): void {
  const file = join(dataDir, 'images', sha256);
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.from('not what was added'), 0, 18, Math.floor(statSync(file).size / 2));
  closeSync(handle);
  print('an image was changed behind its digest');
}

export async function failingReimage(site: PxeSite, id: string, print: Print) {
  const started = await site.server.machines.reimageMachine({
    machineId: id,
    requestId: 'reimage-corrupt',
    imageRef: 'first-1.0',
  });
  print(`REIMAGE ${started.operationId} with an image that is not what its digest says`);
  return endOf(site, started, print);
}

/** What the machine has on both its disks goes, and the result of each is printed. */
export async function eraseMachine(site: PxeSite, id: string, print: Print) {
  const { server, machine } = site;
  // The image on its disk is complete: an operator has inspected it, and says so.
  for (const state of ['pending', 'installing', 'installed', 'active'])
    await call(server, 'PATCH', `/nodes/${id}/state`, {
      state,
      force: true,
      comment: 'its disk was found whole',
    });
  const handle = openSync(machine.nvme, 'r+');
  writeSync(handle, SECRET, 0, 'utf8');
  closeSync(handle);
  const started = await server.admin.eraseMachine({ machineId: id, requestId: 'erase' });
  print(`ERASE ${started.operationId}`);
  const operation = await endOf(site, started, print);
  const { erasure, state } = await nodeOf(server, id);
  for (const disk of erasure?.disks ?? [])
    print(`  ${disk.name} (serial ${disk.serial}): ${disk.result} by ${disk.method}; ${disk.verified}`);
  print(`${id} is ${state}: ${erasure?.outcome}`);
  return { operation, erasure };
}

export const SECRET = 'what a customer kept on the second disk';

async function endOf(site: PxeSite, { operationId }: { readonly operationId: string }, print: Print) {
  let printed = '';
  return untilOn(
    site,
    `${operationId} ends`,
    async () => {
      const operation = await site.server.operations.getOperation({ operationId });
      const line = `${operation.status} ${operation.currentStep} ${operation.waitingFor}`.trim();
      if (line !== printed) print(`  ${line}`);
      printed = line;
      return operation;
    },
    ({ finishedAt }) => finishedAt !== undefined,
  );
}
