/** A MAAS as an upstream: what each of its neutral verbs means in MAAS' own requests, states and events. */
import type { Machine } from '../../domain/machine/machine.ts';
import type { DeployedImages, ProviderCall } from '../provider.ts';
import type { Upstream, UpstreamDeployment, UpstreamListing, UpstreamSite } from '../upstream.ts';
import type { MaasControl, MaasListing, MaasSite } from './client/maas-control.ts';
import { isDatasourceFailure } from './deploy-failure.ts';
import { erasureProgress, erasureReport, markErasure } from './maas-erasure.ts';
import { hostnamesOf, isHostnameTaken } from './maas-hostname.ts';
import { imageText, type MaasImages, parseImage } from './maas-images.ts';
import { type MaasUpstreamMachine, viewOfRecord } from './maas-machine-view.ts';
import { machineByMac } from './machine-by-mac.ts';
import { applySettings, missingSettings } from './missing-settings.ts';

/** The events that a failed deployment is explained from. */
const MAX_FAILURE_EVENTS = 50;

export function createMaasUpstream(maas: MaasControl): Upstream {
  return {
    product: 'MAAS',
    site: upstreamSite(maas.site),
    ...reading(maas),
    ...recording(maas),
    ...preparing(maas),
    ...deploying(maas),
    ...releasing(maas),
    powerOff: (call, id) => maas.powerOff(call, id),
    queryPower: (call, id) => maas.queryPower(call, id),
  };
}

export function createDeployedImages(images: MaasImages): DeployedImages {
  return {
    async find(call, { record }: MaasUpstreamMachine, image) {
      return imageText(await images.find(call, record, image));
    },
  };
}

function upstreamSite(site: MaasSite): UpstreamSite {
  return {
    deploys: `${site.deploy.osystem} ${site.deploy.distroSeries}`,
    hardwareSync: site.deploy.hardwareSync,
    waits: site.waits,
    ssh: site.ssh,
    readUserDataTemplate: () => site.readUserDataTemplate(),
    checkPower: async (machine, signal) =>
      `power type ${(await site.resolvePower(machine, signal)).powerType}`,
    acceptsFailedTests: (machine) => site.optionsFor(machine).failedTesting === 'override',
    hostnamesOf,
  };
}

function reading(maas: MaasControl) {
  return {
    find: async (call) => (await maas.findByMac(call, call.machine.spec.mac_addresses)).map(viewOfRecord),
    findOnly: async (call) => viewOfRecord(await machineByMac(maas, call, call.machine)),
    async observe(call, id) {
      const record = await maas.read(call, id);
      return record && viewOfRecord(record);
    },
    list: async (call, ids) => listingOf(await maas.list(call, ids)),
    listByAddress: async (call, addresses) => listingOf(await maas.listByMac(call, addresses)),
    checkOwnership: (call, { record }: MaasUpstreamMachine) => maas.checkOurs(call, record),
  } satisfies Partial<Upstream>;
}

function listingOf({ machines, unread }: MaasListing): UpstreamListing {
  return { machines: machines.map(viewOfRecord), unread };
}

function recording(maas: MaasControl) {
  return {
    register: (call) => register(maas, call),
    missingSettings: async (call, { record }: MaasUpstreamMachine) => missingSettings(maas, call, record),
    applySettings: (call, { record }: MaasUpstreamMachine) => applySettings(maas, call, record),
    remove: (call, id) => maas.remove(call, id),
  } satisfies Partial<Upstream>;
}

async function register(maas: MaasControl, call: ProviderCall): Promise<string> {
  const { machine } = call;
  const { place, kernel } = maas.site.optionsFor(machine);
  const wanted = {
    architecture: maas.site.architecture,
    macAddresses: machine.spec.mac_addresses,
    ...(await maas.site.resolvePower(machine, call.signal)),
    ...{ place, minHweKernel: kernel.minimum },
  };
  const [hostname, otherwise] = hostnamesOf(machine);
  try {
    return (await maas.create(call, { ...wanted, hostname })).systemId;
  } catch (error) {
    if (!isHostnameTaken(error)) throw error;
    call.log(`MAAS has another machine that is called ${hostname}; adding this one as ${otherwise}`);
    return (await maas.create(call, { ...wanted, hostname: otherwise })).systemId;
  }
}

function preparing(maas: MaasControl) {
  return {
    async commission(call, id) {
      const seen = await maas.read(call, id);
      // A machine that lost its power type since it was found gets it again: without one, MAAS fails.
      if (seen?.powerType === '') await applySettings(maas, call, seen);
      await maas.commission(call, id, maas.site.optionsFor(call.machine).commissioning);
    },
    acceptFailedTests: (call, id, comment) => maas.overrideFailedTesting(call, id, comment),
    async planStorage(call, { record }: MaasUpstreamMachine) {
      const disks = await maas.disks(call, record.systemId);
      const disk = disks.find((one) => maas.site.isBootDisk(one));
      if (disk) return { disk, isBootDisk: record.bootDiskId === disk.id };
      const models = disks.map(({ name, model }) => `${name} ${model}`.trim()).join(', ');
      return { problem: `no disk is a ${maas.site.bootDiskModel}; there are ${models || 'none'}` };
    },
    async applyStorage(call, id, diskId) {
      await maas.setBootDisk(call, id, diskId);
      await maas.setFlatLayout(call, id, diskId);
    },
    async assignAddress(call, { record }: MaasUpstreamMachine) {
      if (record.addressInterface) await maas.linkAuto(call, record.systemId, record.addressInterface.id);
    },
  } satisfies Partial<Upstream>;
}

function deploying(maas: MaasControl) {
  return {
    deploy: (call, id, { userData, image }) =>
      maas.deploy(call, id, {
        userData,
        ...deployedImage(maas.site, image),
        enableHardwareSync: maas.site.deploy.hardwareSync,
        hweKernel: kernelFor(maas.site, call.machine, image),
      }),
    async deploymentFailure(call, { record }: MaasUpstreamMachine) {
      const events = await maas.events(call, record.systemId, MAX_FAILURE_EVENTS);
      if (isDatasourceFailure(events))
        return { cause: 'datasource', message: 'the machine did not find its datasource' };
      const message = record.statusMessage || events[0]?.description || 'no reason given';
      return { cause: 'other', message };
    },
    abort: (call, id, comment) => maas.abort(call, id, comment),
  } satisfies Partial<Upstream>;
}

function deployedImage({ deploy }: MaasSite, image: UpstreamDeployment['image']) {
  const { osystem, distroSeries } = { ...deploy, ...(image && parseImage(image.name)) };
  return { osystem: osystem ?? deploy.osystem, distroSeries };
}

/** A kernel belongs to a release: MAAS refuses it for another image, which gets the one that MAAS chooses. */
function kernelFor(site: MaasSite, machine: Machine, image: UpstreamDeployment['image']): string | null {
  const own = imageText(site.deploy);
  const isSites = image === null || image.name === own || image.asked === own;
  return isSites ? site.optionsFor(machine).kernel.deploy : null;
}

function releasing(maas: MaasControl) {
  return {
    release(call, id, { disks, comment }) {
      const erase = disks === 'erase';
      return maas.release(call, id, { erase, secureErase: erase, quickErase: false, comment });
    },
    markErasure: (call, id) => markErasure(maas, call, id),
    erasureProgress: (call, systemId, mark) => erasureProgress(maas, call, { systemId, mark }),
    erasureReport: (call, systemId, asked) => erasureReport(maas, call, { systemId, ...asked }),
    /** An erasure can be aborted, and the machine released then. A release can't; it goes on as soon as the power is off. */
    async unblockRelease(call, { id, status }) {
      call.log(`MAAS erased the disks, but the machine is not off, and it stays ${status}`);
      if (status === 'Releasing') {
        await maas.powerOff(call, id);
        return 'switching the machine off, which MAAS waits for';
      }
      await maas.abort(call, id, 'erased already');
      return 'MAAS aborts the erasing, which was done';
    },
  } satisfies Partial<Upstream>;
}
