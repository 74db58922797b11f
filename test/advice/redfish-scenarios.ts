/** Failures of BMCs with Redfish. Each machine has its own simulated one. */
import { fresh } from '../api/fleet.ts';
import { newMac } from '../nodes/rest.ts';
import type { RedfishFault } from '../parts/redfish/redfish-fault.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { type BmcScenarioSite, IMAGE } from './bmc-scenarios.ts';
import { type Failing, runOf, type Scenarios, setSpec, step } from './scenario.ts';

interface RedfishMachine {
  readonly bmc: RedfishSimulator;
  readonly machineId: string;
}

interface Wanted {
  readonly provider?: 'trusting' | 'dc';
  /** Behind the address of the BMC. */
  readonly path?: string;
  readonly prepare: (bmc: RedfishSimulator) => void;
  readonly fix: (machine: RedfishMachine) => unknown;
}

async function failing(
  site: BmcScenarioSite,
  { provider = 'trusting', path = '', prepare, fix }: Wanted,
): Promise<Failing> {
  const bmc = await RedfishSimulator.start(site.redfish);
  site.parts.push(bmc);
  prepare(bmc);
  const machineId = fresh('redfish');
  const spec = { provider, bmcEndpoint: `${bmc.url}${path}` };
  await site.server.machines.registerMachine({ machine: { machineId, spec } });
  const fromDisk = step({ case: 'netboot', value: { mode: 'DISK' } });
  const operationId = await runOf(site.server, machineId, fromDisk);
  return { machineId, operationId, fix: async () => fix({ bmc, machineId }) };
}

const withFault = (fault: RedfishFault) => (site: BmcScenarioSite) =>
  failing(site, {
    prepare: (bmc) => {
      bmc.fault = fault;
    },
    fix: ({ bmc }) => {
      bmc.fault = null;
    },
  });

export const REDFISH_SCENARIOS = {
  NOT_REDFISH: withFault('web-page'),
  REDFISH_UNREADABLE: withFault('other-schema'),
  BMC_CERTIFICATE_UNTRUSTED: (site) =>
    failing(site, {
      provider: 'dc',
      prepare: () => {},
      fix: ({ bmc, machineId }) => setSpec(site.server, machineId, { bmcCertificateSha256: bmc.fingerprint }),
    }),
  BOOT_WAY_NOT_OFFERED: async (site) => {
    const bmc = await RedfishSimulator.start({ ...site.redfish, vendor: 'dell' });
    site.parts.push(bmc);
    const machineId = fresh('redfish');
    const spec = { provider: 'http-alone', bmcEndpoint: bmc.url, macAddresses: [newMac()] };
    await site.server.machines.registerMachine({ machine: { machineId, spec } });
    const fromNetwork = step({ case: 'netboot', value: { mode: 'PXE', image: IMAGE } });
    const operationId = await runOf(site.server, machineId, fromNetwork);
    return { machineId, operationId, fix: async () => bmc.becomes('standard') };
  },
  REDFISH_SYSTEM_NOT_FOUND: (site) =>
    failing(site, {
      path: '/redfish/v1/Systems/elsewhere',
      prepare: () => {},
      fix: ({ bmc, machineId }) => setSpec(site.server, machineId, { bmcEndpoint: bmc.url }),
    }),
  REDFISH_NOT_OFFERED: (site) =>
    failing(site, {
      prepare: (bmc) => bmc.becomes('old-firmware'),
      fix: ({ bmc }) => bmc.becomes('standard'),
    }),
} as const satisfies Scenarios<BmcScenarioSite>;
