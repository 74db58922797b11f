/** The fake provider, with its simulated machine in memory. */
import { UNREAD_LOG } from '../../src/domain/hardware/hardware-log.ts';
import { sampleMachine } from '../../src/domain/machine/machine.fixture.ts';
import { createFakeProvider } from '../../src/providers/fake/fake-provider.ts';
import { type FakeState, NEW_FAKE_STATE, settle } from '../../src/providers/fake/fake-state.ts';
import { MemoryFakeWorld } from '../../src/providers/fake/memory-fake-world.fixture.ts';
import type { Capabilities, Imaging, Netboot, ProviderCall } from '../../src/providers/provider.ts';
import { type Cases, type Counterpart, describeProviderContract } from './contract.ts';

type FakeCapabilities = Capabilities & { readonly netboot: Netboot; readonly imaging: Imaging };

const CLUSTER = 'cluster-a';
const world = new MemoryFakeWorld();
const provider = createFakeProvider({ name: 'fake', world, now: Date.now });
const {
  power,
  netboot,
  imaging,
  erasing,
  cluster,
  remoteExec,
  inspect,
  inventory,
  sensors,
  media,
  bios,
  bootOrder,
  firmware,
  volumes,
  drives,
  burnIn,
  console,
  bmc,
} = provider.capabilities as FakeCapabilities;

const machine = (labels: Readonly<Record<string, string>> = { 'fake/step-ms': '0' }) => {
  const sample = sampleMachine({ labels });
  return { ...sample, spec: { ...sample.spec, bmc_endpoint: 'bmc-1', target_cluster_ref: CLUSTER } };
};
const machineId = machine().machineId;
const put = (fields: Partial<FakeState>) => async () =>
  world.put(machineId, { ...NEW_FAKE_STATE, ...fields });
const labelled = (call: ProviderCall, labels: Readonly<Record<string, string>>) => ({
  ...call,
  machine: machine(labels),
});

const ONCE_FROM_CD = { source: 'cd', lasts: 'once', mode: null, path: '' } as const;
const FRESH = put({});
const BIOS = { LogicalProc: 'Disabled' };
const FIRMWARE = { component: 'BIOS', version: '2.0', image_url: 'http://site/bios', sha256: '' };
const VOLUME = { name: 'os', level: 'RAID1', drives: ['a', 'b'], capacity_bytes: 0 } as const;
const RAID = { controller: '', volumes: [VOLUME], destroy_existing: false };
const JOINED = put({ clusterRef: CLUSTER });
const CORDONED = put({ clusterRef: CLUSTER, cordonedBy: 'op-0' });

const cases: Cases = {
  'power.bootState': { prepare: FRESH, run: (call) => power.bootState(call) },
  'console.open': {
    run: async ({ machine, signal }) => (await console.open(machine, { signal, inUse: 'leave' })).close(),
  },
  'power.reboot': { prepare: FRESH, run: (call) => power.reboot(call, 'bmc', '1') },
  'power.shutDown': { prepare: FRESH, run: (call) => power.shutDown(call) },
  'netboot.bootDevice': { prepare: FRESH, run: (call) => netboot.bootDevice(call) },
  'netboot.setBootDevice': { prepare: FRESH, run: (call) => netboot.setBootDevice(call, 'pxe', 'debian') },
  'imaging.imagingState': { prepare: FRESH, run: (call) => imaging.imagingState(call) },
  'imaging.startImaging': { prepare: FRESH, run: (call) => imaging.startImaging(call, 'debian') },
  'imaging.stopImaging': {
    prepare: async () => {
      await FRESH();
      world.put(machineId, { task: writing(`op-${++stopped}/work/1`) });
    },
    // Of the operation that writes.
    run: (call) => imaging.stopImaging({ ...call, key: `op-${stopped}/work/undo-1` }),
  },
  'erasing.erasingState': { prepare: FRESH, run: (call) => erasing.erasingState(call) },
  'erasing.startErasing': {
    prepare: put({ image: 'debian' }),
    run: (call) => erasing.startErasing(call, 'ends'),
  },
  'erasing.stopErasing': { prepare: FRESH, run: (call) => erasing.stopErasing(call), isInert: true },
  'cluster.membership': { prepare: JOINED, run: (call) => cluster.membership(call, CLUSTER) },
  'cluster.ready': { prepare: JOINED, run: (call) => cluster.ready(call, CLUSTER) },
  'cluster.node': { prepare: JOINED, run: (call) => cluster.node(call, CLUSTER) },
  'cluster.join': { prepare: FRESH, run: (call) => cluster.join(call, CLUSTER) },
  'cluster.cordon': { prepare: JOINED, run: (call) => cluster.cordon(call, CLUSTER) },
  'cluster.evict': { prepare: CORDONED, run: (call) => cluster.evict(call, CLUSTER) },
  'cluster.uncordon': { prepare: CORDONED, run: (call) => cluster.uncordon(call, CLUSTER, 'any') },
  'remoteExec.run': { prepare: FRESH, run: (call) => remoteExec.run(call, { command: 'true' }) },
  'bmc.power': { prepare: FRESH, run: (call) => bmc.power(call) },
  'bmc.offersPower': { prepare: FRESH, run: (call) => bmc.offersPower(call, 'cycle') },
  'bmc.changePower': { prepare: FRESH, run: (call) => bmc.changePower(call, 'off') },
  'bmc.indicator': { prepare: FRESH, run: (call) => bmc.indicator(call) },
  'bmc.setIndicator': { prepare: FRESH, run: (call) => bmc.setIndicator(call, 'on') },
  'bmc.powerReading': { prepare: FRESH, run: (call) => bmc.powerReading(call) },
  'bmc.setPowerLimit': { prepare: FRESH, run: (call) => bmc.setPowerLimit(call, 450) },
  'bmc.logEntries': { prepare: FRESH, run: (call) => bmc.logEntries(call) },
  'bmc.clearLog': { prepare: FRESH, run: (call) => bmc.clearLog(call) },
  'bmc.resetBmc': { prepare: FRESH, run: (call) => bmc.resetBmc(call) },
  'bmc.bootOverride': { prepare: FRESH, run: (call) => bmc.bootOverride(call) },
  'bmc.setBootOverride': { prepare: FRESH, run: (call) => bmc.setBootOverride(call, ONCE_FROM_CD) },
  'bmc.certificate': { prepare: FRESH, run: (call) => bmc.certificate(call) },
  'bmc.rotation': { prepare: FRESH, run: async (call) => bmc.rotation(call.machine) },
  'bmc.passwordState': { prepare: FRESH, run: (call) => bmc.passwordState(call, 'old') },
  'bmc.preparePassword': { prepare: FRESH, run: (call) => bmc.preparePassword(call) },
  'bmc.changePassword': {
    prepare: put({ bmc: { password: 'prepared' } }),
    run: (call) => bmc.changePassword(call),
  },
  'bmc.promotePassword': {
    prepare: put({ bmc: { password: 'changed' } }),
    run: (call) => bmc.promotePassword(call),
  },
  'bmc.dropPassword': {
    prepare: put({ bmc: { password: 'prepared' } }),
    run: (call) => bmc.dropPassword(call),
  },
  'media.inserted': { prepare: FRESH, run: (call) => media.inserted(call) },
  'media.insert': { prepare: FRESH, run: (call) => media.insert(call, 'http://site/rescue.iso') },
  'media.eject': { prepare: put({ media: 'http://site/rescue.iso' }), run: (call) => media.eject(call) },
  'bios.compare': { prepare: FRESH, run: (call) => bios.compare(call, BIOS) },
  'bios.stage': { prepare: FRESH, run: (call) => bios.stage(call, BIOS) },
  'bios.taskState': { prepare: FRESH, run: (call) => bios.taskState(call, 'bios') },
  'bootOrder.compare': { prepare: FRESH, run: (call) => bootOrder.compare(call, ['pxe']) },
  'bootOrder.stage': { prepare: FRESH, run: (call) => bootOrder.stage(call, ['pxe']) },
  'bootOrder.taskState': { prepare: FRESH, run: (call) => bootOrder.taskState(call, 'boot-order') },
  'firmware.compare': { prepare: FRESH, run: (call) => firmware.compare(call, FIRMWARE) },
  'firmware.update': { prepare: FRESH, run: (call) => firmware.update(call, FIRMWARE) },
  'firmware.findUpdate': { prepare: FRESH, run: (call) => firmware.findUpdate(call) },
  'firmware.taskState': { prepare: FRESH, run: (call) => firmware.taskState(call, 'firmware') },
  'volumes.compare': { prepare: FRESH, run: (call) => volumes.compare(call, RAID) },
  'volumes.change': {
    prepare: FRESH,
    run: (call) => volumes.change(call, RAID, { kind: 'create', volume: VOLUME }),
  },
  'volumes.taskState': { prepare: FRESH, run: (call) => volumes.taskState(call, 'volume') },
  'burnIn.state': { prepare: FRESH, run: (call) => burnIn.state(call) },
  'burnIn.start': {
    prepare: FRESH,
    run: (call) => burnIn.start(call, { purpose: 'test', tests: ['cpu'], seconds: 10 }),
  },
  'burnIn.stop': {
    prepare: async () => {
      stopped += 1;
      await put({ task: { ...writing(`op-${stopped}/work/1`), kind: 'burn-in' } })();
    },
    run: (call) => burnIn.stop({ ...call, key: `op-${stopped}/undo/1` }),
  },
  'drives.list': { prepare: FRESH, run: (call) => drives.list(call) },
  'drives.erase': { prepare: put({ image: 'old' }), run: (call) => drives.erase(call, 'sda') },
  'drives.findErasure': { prepare: FRESH, run: (call) => drives.findErasure(call, 'sda') },
  'drives.taskState': { prepare: FRESH, run: (call) => drives.taskState(call, 'drive-erase') },
  'inventory.readHardware': { prepare: FRESH, run: (call) => inventory.readHardware(call) },
  'sensors.read': {
    prepare: FRESH,
    run: (call) => sensors.read(call.machine, UNREAD_LOG, call.signal),
  },
  'inspect.host': { prepare: FRESH, run: (call) => inspect.host(call.machine, call.signal) },
  'inspect.bmc': { prepare: FRESH, run: (call) => inspect.bmc(call.machine, call.signal) },
  'inspect.cluster': { prepare: JOINED, run: (call) => inspect.cluster(call.machine, call.signal) },
};

let stopped = 1_000;
const writing = (key: string) =>
  ({ key, kind: 'repave', startedAt: Date.now(), durationMs: 60_000, outcome: 'ok', target: 'x' }) as const;

const counterpart: Counterpart = {
  provider,
  machine: () => machine(),
  cases,
  snapshot: async () => {
    const { fence: _fence, failures: _failures, ...state } = settle(await world.read(machineId), Date.now());
    return state;
  },
  failures: [
    {
      kind: 'failed',
      method: 'remoteExec.run',
      arrange: async () => () => {},
      run: (call) => {
        const steered = labelled(call, { 'fake/step-ms': '0', 'fake/fail-step': 'exec' });
        return remoteExec.run(steered, { command: 'true' });
      },
    },
  ],
  slow: [
    {
      method: 'remoteExec.run',
      arrange: async () => () => {},
      run: (call) => remoteExec.run(labelled(call, { 'fake/step-ms': '60000' }), { command: 'true' }),
    },
  ],
  secrets: [],
  close: async () => {},
};

describeProviderContract('fake', Object.keys(cases), async () => counterpart);
