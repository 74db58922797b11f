/** Changes of hardware in the provider contract, on a simulated BMC with Redfish. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Capabilities, ProviderCall } from '../../src/providers/provider.ts';
import { SimulatedBios } from '../parts/redfish/resources/bios.ts';
import { SimulatedBootOrder } from '../parts/redfish/resources/boot-options.ts';
import type { RedfishSimulator } from '../parts/redfish/simulator.ts';
import type { Cases } from './contract.ts';

const BIOS = { LogicalProc: 'Disabled' };
const IMAGE = Buffer.from('firmware of the BIOS');
const VOLUME = { name: 'os', level: 'RAID1', drives: ['SAS0000', 'SAS0001'], capacity_bytes: 0 } as const;
const RAID = { controller: '', volumes: [VOLUME], destroy_existing: false };

/** A web server with an image of firmware. */
export async function startImageServer() {
  const server = createServer((_request, response) => response.end(IMAGE));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/bios-2.0.bin`, stop: () => server.close() };
}

export function changeCases(
  capabilities: () => Capabilities,
  bmc: () => RedfishSimulator,
  through: (call: ProviderCall) => ProviderCall,
  imageUrl: () => string,
): Cases {
  const asNew = async () => {
    Object.assign(bmc().bios, new SimulatedBios());
    Object.assign(bmc().bootOrder, new SimulatedBootOrder());
    bmc().storage.hasController = true;
    bmc().storage.volumes = [];
    for (const drive of bmc().storage.drives) drive.erasures = 0;
    bmc().hardware.firmware = { BIOS: '1.2.3', BMC: '6.10' };
    await settled();
  };
  const settled = () => bmc().tasks.idle();
  const task = '/redfish/v1/TaskService/Tasks/none';
  const firmware = () => {
    const sha256 = bmc().updates.add(IMAGE, { BIOS: '2.0' });
    return { component: 'BIOS', version: '2.0', image_url: imageUrl(), sha256 };
  };
  const can = capabilities;
  return {
    'bios.compare': { prepare: asNew, run: (call) => can().bios.compare(through(call), BIOS) },
    'bios.stage': { prepare: asNew, run: (call) => can().bios.stage(through(call), BIOS) },
    'bios.taskState': { run: (call) => can().bios.taskState(through(call), task) },
    'bootOrder.compare': { prepare: asNew, run: (call) => can().bootOrder.compare(through(call), ['Pxe']) },
    'bootOrder.stage': { prepare: asNew, run: (call) => can().bootOrder.stage(through(call), ['Pxe']) },
    'bootOrder.taskState': { run: (call) => can().bootOrder.taskState(through(call), task) },
    'firmware.compare': { prepare: asNew, run: (call) => can().firmware.compare(through(call), firmware()) },
    'firmware.update': {
      prepare: asNew,
      run: (call) => can().firmware.update(through(call), firmware()),
      settled,
    },
    'firmware.findUpdate': { run: (call) => can().firmware.findUpdate(through(call)) },
    'firmware.taskState': { run: (call) => can().firmware.taskState(through(call), task) },
    'volumes.compare': { prepare: asNew, run: (call) => can().volumes.compare(through(call), RAID) },
    'volumes.change': {
      prepare: asNew,
      run: (call) => can().volumes.change(through(call), RAID, { kind: 'create', volume: VOLUME }),
      settled,
    },
    'drives.list': { prepare: asNew, run: (call) => can().drives.list(through(call)) },
    'drives.erase': {
      prepare: asNew,
      // Twice is twice: it destroys nothing that was to stay.
      run: async (call) => {
        const drive = `${bmc().systemPath}/Storage/RAID.1/Drives/Disk.Bay.0`;
        if ((bmc().storage.drives[0]?.erasures ?? 0) === 0) await can().drives.erase(through(call), drive);
      },
      settled,
    },
    'drives.findErasure': { run: (call) => can().drives.findErasure(through(call), '/redfish/v1/none') },
    'drives.taskState': { run: (call) => can().drives.taskState(through(call), task) },
    'volumes.taskState': { run: (call) => can().volumes.taskState(through(call), task) },
  };
}

/** Everything that these could change. */
export function changesSnapshot({ bios, bootOrder, hardware, storage }: RedfishSimulator): unknown {
  const { pending, attributes } = bios;
  const { volumes, drives } = storage;
  const { firmware } = hardware;
  return structuredClone({ pending, attributes, bootOrder: { ...bootOrder }, firmware, volumes, drives });
}
