/** One machine of a MAAS that is a value: work has a start and a duration, so it goes on whether or not it is observed. */
import { NO_CONTROL_PLANE } from '../../steps/control-plane.fixture.ts';
import type { ControlPlane } from '../../steps/control-plane.ts';
import type { Provider } from '../provider.ts';
import { sampleRecord, upstreamOver } from './client/maas-control.fixture.ts';
import type { MaasDeployment, MaasEvent, MaasImage, MaasMachine, MaasStatus } from './client/maas-control.ts';
import { createMaasImages, imageText } from './maas-images.ts';
import { createMaasNetboot } from './maas-netboot.ts';
import { createDeployedImages } from './maas-upstream.ts';

export const WORK_MS = 5_000;

export class MemoryMaas {
  status: MaasStatus;
  image: MaasImage = { osystem: 'ubuntu', distroSeries: 'focal' };
  /** What was asked of it, in order. */
  readonly orders: string[] = [];
  /** The agent's token that the deployed system has, and the one that is good. */
  deployedToken = 0;
  token = 0;
  isAgentKnown = true;
  /** Tokens that were issued while the agent of the old system still counted. */
  replaced = 0;
  kernel: string | null = null;
  erasesAlways = false;
  /** Newest first. */
  readonly events: MaasEvent[] = [];
  #work: { readonly until: number; readonly ends: MaasStatus } | null = null;
  readonly #now: () => number;

  readonly #workMs: number;

  constructor(now: () => number, status: MaasStatus, workMs = WORK_MS) {
    this.#now = now;
    this.status = status;
    this.#workMs = workMs;
  }

  settle(): this {
    if (this.#work && this.#now() >= this.#work.until) {
      this.status = this.#work.ends;
      this.#work = null;
    }
    return this;
  }

  #begin(order: string, from: readonly MaasStatus[], status: MaasStatus, ends: MaasStatus): void {
    this.settle();
    this.orders.push(order);
    if (!from.includes(this.status)) throw new Error(`${order} of a machine that is ${this.status}`);
    this.status = status;
    this.#work = { until: this.#now() + this.#workMs, ends };
  }

  view(): MaasMachine {
    return sampleRecord({ status: this.settle().status, image: this.image });
  }

  provider(): Provider {
    const maas = {
      checkOurs: async () => {},
      findByMac: async () => [this.view()],
      read: async () => this.view(),
      images: async () => [
        { osystem: 'ubuntu', distroSeries: 'focal', architecture: 'amd64' },
        { osystem: 'ubuntu', distroSeries: 'jammy', architecture: 'amd64' },
        { osystem: 'ubuntu', distroSeries: 'noble', architecture: 'amd64' },
      ],
      events: async () => this.events,
      lastWipe: async () => null,
      erasesAlways: async () => this.erasesAlways,
      powerOff: async () => {
        this.orders.push('power off');
        this.#work = { until: this.#now(), ends: 'Ready' };
      },
      release: async () => {
        this.#begin('release', RELEASABLE, 'Releasing', 'Ready');
        if (!this.erasesAlways) return;
        // It erased, and could not switch it off: it stays where it is.
        this.#work = null;
        for (const type of ['Disks erased', 'Failed to power off node'])
          this.events.unshift({ id: this.events.length + 1, at: '', level: 'INFO', type, description: '' });
      },
      deploy: async (_call: unknown, _id: string, wanted: MaasDeployment) => {
        this.#begin(`deploy ${imageText(wanted)}`, ['Ready', 'Allocated'], 'Deploying', 'Deployed');
        this.image = { osystem: wanted.osystem, distroSeries: wanted.distroSeries };
        this.deployedToken = this.token;
        this.kernel = wanted.hweKernel ?? null;
      },
      abort: async () => {
        this.#begin('abort', ['Deploying'], 'Allocated', 'Allocated');
      },
    };
    const images = createMaasImages('site-a', maas as never);
    const netboot = createMaasNetboot(maas as never, images);
    const capabilities = {
      upstream: upstreamOver(maas),
      imaging: createDeployedImages(images),
      netboot,
    };
    return { name: 'site-a', defaultImage: 'ubuntu/noble', capabilities: capabilities as never };
  }

  controlPlane(): ControlPlane {
    const nodeServices = {
      serverUrl: () => 'http://127.0.0.1:1',
      issueAgentToken: async () => {
        if (this.isAgentKnown) this.replaced += 1;
        this.token += 1;
        this.isAgentKnown = true;
        return { token: `token-${this.token}` };
      },
      forgetSecrets: async () => {
        this.isAgentKnown = false;
      },
    };
    return { ...NO_CONTROL_PLANE, nodeServices: nodeServices as unknown as ControlPlane['nodeServices'] };
  }
}

const RELEASABLE: readonly MaasStatus[] = ['Deployed', 'Allocated', 'Failed deployment', 'Releasing failed'];
