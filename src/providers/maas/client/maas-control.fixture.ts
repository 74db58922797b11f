/** A MAAS of which a test says only what matters to it. */
import type { Upstream } from '../../upstream.ts';
import { createMaasUpstream } from '../maas-upstream.ts';
import type { MaasMachine } from './maas-control.ts';

export function sampleRecord(fields: Partial<MaasMachine>): MaasMachine {
  return {
    systemId: 'abc',
    hostname: 'm-1',
    status: 'Ready',
    statusMessage: '',
    owner: null,
    locked: false,
    powerType: 'ipmi',
    architecture: 'amd64/generic',
    image: { osystem: 'ubuntu', distroSeries: 'noble' },
    ipAddresses: [],
    power: 'on',
    macAddresses: [],
    zone: 'default',
    pool: 'default',
    domain: 'maas',
    tags: [],
    minHweKernel: '',
    bootInterface: null,
    addressInterface: null,
    interfaces: [],
    bootDiskId: null,
    hardwareSync: { enabled: false, isHealthy: false, lastSync: null },
    ...fields,
  };
}

const SITE = {
  deploy: { osystem: 'ubuntu', distroSeries: 'noble', hardwareSync: false },
  ssh: null,
  waits: { powerOffSeconds: 300 },
  readUserDataTemplate: () => null,
  optionsFor: () => ({ kernel: { minimum: null, deploy: 'hwe-24.04' } }),
};

/** The methods of MaasControl that the test needs; any other fails. */
export function upstreamOver(maas: object): Upstream {
  return createMaasUpstream({ site: SITE, ...maas } as never);
}
