/** The parts of a simulated machine, which a test takes out and changes, and the resources that a BMC shows of them. */

import { type Body, CHASSIS, link, MANAGER } from './simulated-noun.ts';
import type { RedfishSimulator } from './simulator.ts';

const OK = { State: 'Enabled', Health: 'OK' };

export class SimulatedHardware {
  processors = ['CPU1', 'CPU2'];
  memory = [1, 2, 3, 4, 5, 6].map((slot) => ({ slot: `A${slot}`, serial: `DIMM000${slot}`, health: 'OK' }));
  drives = [
    { slot: 'Bay.0', serial: 'NVME0001', lifeLeft: 99 },
    { slot: 'Bay.1', serial: 'NVME0002', lifeLeft: 97 },
  ];
  nics = [
    { slot: 'NIC.1', mac: '52:54:00:AA:00:01', link: 'LinkUp' },
    { slot: 'NIC.2', mac: '52:54:00:AA:00:02', link: 'LinkDown' },
  ];
  gpus = [1, 2].map((slot) => ({ slot: `GPU.${slot}`, model: 'H100 80GB HBM3', serial: `GPU000${slot}` }));
  powerSupplies = ['PSU.1', 'PSU.2'];
  emptyMemory = ['A7', 'A8'];
  firmware: Record<string, string> = { BIOS: '1.2.3', BMC: '6.10' };
  /** The sizes of memory modules are texts. */
  unreadableSizes = false;
  /** Members that are listed and do not exist. */
  dangling: string[] = [];
}

export interface HardwareTree {
  readonly resources: ReadonlyMap<string, Body>;
  readonly collections: ReadonlyMap<string, readonly string[]>;
  /** What the system says of them. */
  readonly system: Body;
}

export function hardwareTree(bmc: RedfishSimulator): HardwareTree {
  const { hardware, systemPath, shape } = bmc;
  const resources = new Map<string, Body>();
  const collections = new Map<string, string[]>();
  const collect = (path: string, members: Readonly<Record<string, Body>>) => {
    const ids = Object.keys(members).map((id) => `${path}/${id}`);
    for (const [id, body] of Object.entries(members))
      resources.set(`${path}/${id}`, { '@odata.id': `${path}/${id}`, Id: id, Name: id, Status: OK, ...body });
    collections.set(path, [...ids, ...hardware.dangling.map((id) => `${path}/${id}`)]);
  };
  const { gpusAt } = shape;
  const sizes = hardware.unreadableSizes ? { CapacityMiB: '16384 MB' } : {};
  const gpuProcessors = Object.fromEntries(hardware.gpus.map((gpu) => [gpu.slot, gpuProcessor(gpu)]));
  collect(`${systemPath}/Processors`, {
    ...Object.fromEntries(hardware.processors.map((socket) => [socket, processor(socket)])),
    ...(gpusAt === 'processors' ? gpuProcessors : {}),
  });
  for (const board of gpusAt === 'board' ? shape.moreSystems.slice(0, 1) : [])
    collect(`/redfish/v1/Systems/${board}/Processors`, gpuProcessors);
  collect(
    `${systemPath}/Memory`,
    Object.fromEntries([
      ...hardware.memory.map((module) => [module.slot, { ...memory(module), ...sizes }] as const),
      ...hardware.emptyMemory.map(
        (slot) => [slot, { DeviceLocator: slot, Status: { State: 'Absent' } }] as const,
      ),
    ]),
  );
  collect(`${systemPath}/Storage`, {
    '1': { Drives: hardware.drives.map(({ slot }) => link(`${CHASSIS}/Drives/${slot}`)) },
  });
  collect(`${CHASSIS}/Drives`, Object.fromEntries(hardware.drives.map((one) => [one.slot, drive(one)])));
  collect(
    `${CHASSIS}/NetworkAdapters`,
    Object.fromEntries(hardware.nics.map(({ slot }) => [slot, adapter(slot)])),
  );
  for (const nic of hardware.nics)
    collect(`${CHASSIS}/NetworkAdapters/${nic.slot}/Ports`, { '1': port(nic) });
  collect(
    `${systemPath}/EthernetInterfaces`,
    Object.fromEntries(
      hardware.nics.map(({ slot, mac, link: up }) => [slot, { MACAddress: mac, LinkStatus: up }]),
    ),
  );
  collect(
    `${CHASSIS}/PCIeDevices`,
    gpusAt === 'pcie' ? Object.fromEntries(hardware.gpus.map((gpu) => [gpu.slot, pcieGpu(gpu)])) : {},
  );
  if (gpusAt === 'pcie')
    for (const { slot } of hardware.gpus)
      collect(`${CHASSIS}/PCIeDevices/${slot}/PCIeFunctions`, { '1': { DeviceClass: 'DisplayController' } });
  collect(
    `${CHASSIS}/PowerSubsystem/PowerSupplies`,
    Object.fromEntries(
      hardware.powerSupplies.map((slot) => [slot, { PowerCapacityWatts: 1400, Model: 'PSU' }]),
    ),
  );
  resources.set(`${CHASSIS}/PowerSubsystem`, {
    '@odata.id': `${CHASSIS}/PowerSubsystem`,
    PowerSupplies: link(`${CHASSIS}/PowerSubsystem/PowerSupplies`),
  });
  collections.set('/redfish/v1/Chassis', [CHASSIS]);
  resources.set(CHASSIS, bmc.extended('chassis', chassis()));
  resources.set(MANAGER, bmc.extended('manager', { '@odata.id': MANAGER, Id: '1', Name: 'Manager' }));
  const firmware = '/redfish/v1/UpdateService/FirmwareInventory';
  collect(
    firmware,
    Object.fromEntries(
      Object.entries({ ...bmc.shape.moreFirmware, ...hardware.firmware }).map((entry) =>
        firmwareEntry(bmc, ...entry),
      ),
    ),
  );
  resources.set(
    '/redfish/v1/UpdateService',
    bmc.extended('updateService', {
      Id: 'UpdateService',
      Name: 'Update Service',
      FirmwareInventory: link(firmware),
    }),
  );
  return { resources, collections, system: systemLinks(systemPath) };
}

/** As an iDRAC calls them. */
const DEVICES: Readonly<Record<string, { readonly Name: string; readonly end: string }>> = {
  BIOS: { Name: 'BIOS', end: 'BIOS.Setup.1-1' },
  BMC: { Name: 'Integrated Dell Remote Access Controller', end: 'iDRAC.Embedded.1-1' },
};

/** Where entries are known by their purpose, the id says nothing. */
function firmwareEntry({ shape }: RedfishSimulator, id: string, Version: string): [string, Body] {
  if (id === 'BIOS' && shape.biosVersion === 'dated')
    return [id, { Version: `BIOS Date: 08/04/2023 Ver ${Version}` }];
  if (shape.firmwareKnownBy === 'device') {
    const { [id]: device = { Name: id, end: id } } = DEVICES;
    return [`Installed-0-${Version}__${device.end}`, { Version, Name: device.Name }];
  }
  if (shape.firmwareKnownBy === 'name') return [id, { Version }];
  const digest = Buffer.from(id).toString('hex').slice(0, 8);
  return [digest, { Version, Name: 'Software Inventory', Description: `${id} image` }];
}

function systemLinks(systemPath: string): Body {
  return {
    Processors: link(`${systemPath}/Processors`),
    Memory: link(`${systemPath}/Memory`),
    Storage: link(`${systemPath}/Storage`),
    EthernetInterfaces: link(`${systemPath}/EthernetInterfaces`),
    Links: { Chassis: [link(CHASSIS)], ManagedBy: [link(MANAGER)] },
  };
}

function chassis(): Body {
  return {
    '@odata.id': CHASSIS,
    Id: '1',
    Name: 'Chassis',
    NetworkAdapters: link(`${CHASSIS}/NetworkAdapters`),
    PCIeDevices: link(`${CHASSIS}/PCIeDevices`),
    PowerSubsystem: link(`${CHASSIS}/PowerSubsystem`),
  };
}

function processor(socket: string): Body {
  return { ProcessorType: 'CPU', Socket: socket, Model: 'Simulated 9000', TotalCores: 24, TotalThreads: 48 };
}

type Gpu = SimulatedHardware['gpus'][number];

function gpuProcessor({ model, serial }: Gpu): Body {
  return { ProcessorType: 'GPU', Manufacturer: 'NVIDIA', Model: `NVIDIA ${model}`, SerialNumber: serial };
}

function pcieGpu({ slot, model, serial }: Gpu): Body {
  return {
    Model: model,
    SerialNumber: serial,
    PCIeFunctions: link(`${CHASSIS}/PCIeDevices/${slot}/PCIeFunctions`),
  };
}

function memory({ slot, serial, health }: SimulatedHardware['memory'][number]): Body {
  return {
    CapacityMiB: 16_384,
    DeviceLocator: slot,
    MemoryDeviceType: 'DDR5',
    OperatingSpeedMhz: 4800,
    SerialNumber: serial,
    Status: { State: 'Enabled', Health: health },
  };
}

function drive({ serial, lifeLeft }: SimulatedHardware['drives'][number]): Body {
  return {
    CapacityBytes: 1_920_383_410_176,
    MediaType: 'SSD',
    Protocol: 'NVMe',
    Model: 'Simulated NVMe',
    SerialNumber: serial,
    PredictedMediaLifeLeftPercent: lifeLeft,
  };
}

function adapter(slot: string): Body {
  return {
    Manufacturer: 'Simulated',
    Model: 'SimNIC',
    Ports: link(`${CHASSIS}/NetworkAdapters/${slot}/Ports`),
  };
}

function port({ mac, link: status }: SimulatedHardware['nics'][number]): Body {
  return {
    LinkStatus: status,
    CurrentSpeedGbps: 25,
    Ethernet: {
      AssociatedMACAddresses: [mac],
      LLDPReceive: { SystemName: 'leaf-1', PortId: 'Ethernet7' },
    },
  };
}
