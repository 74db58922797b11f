/** Failures of steps that change hardware. Each machine has its own simulated BMC with Redfish. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fresh, phaseOf } from '../api/fleet.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { until } from '../parts/until.ts';
import type { BmcScenarioSite } from './bmc-scenarios.ts';
import { ended, type Failing, runOf, type Scenarios, step, TIME_LIMIT } from './scenario.ts';

type Kind = Parameters<typeof step>[0];

interface Changing {
  readonly bmc: RedfishSimulator;
  readonly machineId: string;
}

interface Wanted {
  readonly kind: Kind;
  readonly prepare: (bmc: RedfishSimulator) => void;
  /** After the start. */
  readonly meanwhile?: (machine: Changing) => Promise<unknown>;
  readonly fix: (machine: Changing) => unknown;
}

async function failing(site: BmcScenarioSite, { kind, prepare, meanwhile, fix }: Wanted): Promise<Failing> {
  const bmc = await RedfishSimulator.start(site.redfish);
  site.parts.push(bmc);
  const machineId = fresh('changed');
  await site.server.machines.registerMachine({
    machine: { machineId, spec: { provider: 'trusting', bmcEndpoint: bmc.url } },
  });
  const { operationId: entering } = await site.server.machines.enterMaintenance({
    machineId,
    requestId: fresh('in'),
  });
  if (phaseOf(await ended(site.server, entering)) !== 'SUCCEEDED') throw new Error('not in maintenance');
  bmc.system.power = 'On';
  bmc.storage.hasController = true;
  prepare(bmc);
  const operationId = await runOf(site.server, machineId, step(kind));
  await meanwhile?.({ bmc, machineId });
  return { machineId, operationId, fix: async () => fix({ bmc, machineId }) };
}

const IMAGE = Buffer.from('firmware');
const SHA256 = createHash('sha256').update(IMAGE).digest('hex');

/** A web server for images, which a scenario has answer something else. */
async function imageServer(site: BmcScenarioSite) {
  const answer = { status: 200, body: IMAGE };
  const server = createServer((_request, response) => response.writeHead(answer.status).end(answer.body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.parts.push({ stop: async () => void server.close() });
  const imageUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bios.bin`;
  const kind: Kind = {
    case: 'firmwareUpdate',
    value: { component: 'BIOS', version: '2.0', imageUrl, sha256: SHA256 },
  };
  return { answer, kind };
}

const knowsImage = (bmc: RedfishSimulator) => {
  bmc.updates.add(IMAGE, { BIOS: '2.0' });
};

const OS = { name: 'os', level: 'RAID1', drives: ['SAS0000', 'SAS0001'] };
const raid = (volumes = [OS]): Kind => ({ case: 'raid', value: { volumes } });

export const CHANGE_SCENARIOS = {
  SETTINGS_REFUSED: (site) =>
    failing(site, {
      kind: { case: 'biosSettings', value: { attributes: { Turbo: 'Enabled' } } },
      prepare: () => {},
      fix: ({ bmc }) => {
        bmc.bios.attributes.Turbo = 'Enabled';
      },
    }),
  SETTINGS_NOT_APPLIED: (site) =>
    failing(site, {
      kind: { case: 'biosSettings', value: { attributes: { LogicalProc: 'Disabled' } } },
      prepare: (bmc) => {
        bmc.becomes('dell');
        bmc.bios.dropsPending = true;
        bmc.tasks.nextFails = 'The job could not be completed.';
      },
      fix: ({ bmc }) => {
        bmc.bios.dropsPending = false;
      },
    }),
  async FIRMWARE_REFUSED(site) {
    const { answer, kind } = await imageServer(site);
    answer.body = Buffer.from('another file');
    return failing(site, {
      kind,
      prepare: knowsImage,
      fix: () => {
        answer.body = IMAGE;
      },
    });
  },
  async FIRMWARE_IMAGE_UNREACHABLE(site) {
    const { answer, kind } = await imageServer(site);
    answer.status = 404;
    return failing(site, {
      kind,
      prepare: knowsImage,
      fix: () => {
        answer.status = 200;
      },
    });
  },
  async FIRMWARE_UPDATE_FAILED(site) {
    const { kind } = await imageServer(site);
    const prepare = (bmc: RedfishSimulator) => {
      knowsImage(bmc);
      bmc.tasks.nextFails = 'The image is for another board.';
    };
    return failing(site, { kind, prepare, fix: () => {} });
  },
  async FIRMWARE_UPDATE_UNKNOWN(site) {
    const { kind } = await imageServer(site);
    const prepare = (bmc: RedfishSimulator) => {
      knowsImage(bmc);
      bmc.updates.isMute = true;
      bmc.hidden.add('/redfish/v1/TaskService');
    };
    const fix = ({ bmc }: Changing) => {
      bmc.updates.isMute = false;
      bmc.hidden.clear();
    };
    return failing(site, { kind, prepare, fix });
  },
  VOLUMES_REFUSED: (site) =>
    failing(site, {
      kind: raid([{ ...OS, drives: ['SAS0000', 'SAS0009'] }]),
      prepare: () => {},
      fix: ({ bmc }) => bmc.storage.drives.push({ id: 'Disk.Bay.9', serial: 'SAS0009', erasures: 0 }),
    }),
  VOLUMES_IN_THE_WAY: (site) =>
    failing(site, {
      kind: raid(),
      prepare: (bmc) => bmc.storage.create('old', 'RAID0', ['Disk.Bay.0']),
      fix: ({ bmc }) => {
        bmc.storage.volumes = [];
      },
    }),
  VOLUME_CHANGE_FAILED: (site) =>
    failing(site, {
      kind: raid(),
      prepare: (bmc) => {
        bmc.tasks.nextFails = 'The drive is foreign.';
      },
      fix: () => {},
    }),
  NOT_IN_MAINTENANCE: (site) => {
    const becomes = (machineId: string, phase: string) =>
      site.server.sql('UPDATE machines SET phase = $2 WHERE machine_id = $1', [machineId, phase]);
    return failing(site, {
      kind: raid(),
      prepare: (bmc) => {
        bmc.fault = 'busy';
      },
      async meanwhile({ bmc, machineId }) {
        await until(
          () => bmc.requests.length,
          (count) => count > 0,
          TIME_LIMIT,
        );
        await becomes(machineId, 'READY');
        bmc.fault = null;
      },
      fix: ({ machineId }) => becomes(machineId, 'MAINTENANCE'),
    });
  },
} as const satisfies Scenarios<BmcScenarioSite>;
