/**
 * A second upstream, so that nothing which drives upstreams depends on MAAS: one machine that is a value, and work that has
 * a start and a duration, so that it goes on whether or not it is observed. Its words, ids and ways are its own: it
 * inspects nothing twice, has no hardware sync, and switches a machine off by itself when it takes it back.
 */
import type { ObservedWord } from '../domain/condition/observed-word.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { StepFailure } from '../engine/step-handler.ts';
import type { Provider } from './provider.ts';
import {
  type Upstream,
  type UpstreamDeployment,
  UpstreamFailure,
  type UpstreamMachine,
  type UpstreamState,
} from './upstream.ts';

const FOUNDRY_WORK_MS = 4_000;

/** The states that a foundry has, in the words that are recorded; what it calls them itself is the message. */
const WORDS: Readonly<Partial<Record<UpstreamState, readonly [recorded: ObservedWord, own: string]>>> = {
  new: ['New', 'unboxed'],
  commissioning: ['Commissioning', 'on the bench'],
  ready: ['Ready', 'in stock'],
  deploying: ['Deploying', 'being filled'],
  deployed: ['Deployed', 'in the field'],
  deployment_failed: ['Failed deployment', 'spilled'],
  releasing: ['Releasing', 'coming home'],
  erasing: ['Disk erasing', 'being melted'],
};

interface Work {
  readonly until: number;
  readonly ends: UpstreamState;
}

export class MemoryUpstream {
  /** Null: it has no record of the machine. */
  state: UpstreamState | null = null;
  power: UpstreamMachine['power'] = 'off';
  /** What was requested of it, in order. */
  readonly requests: string[] = [];
  deployment: UpstreamDeployment | null = null;
  disk: number | null = null;
  isAddressAssigned = false;
  erasures = 0;
  #work: Work | null = null;
  /** Set where it is used: the clock of the one who drives it. */
  now: () => number = Date.now;

  provider(): Provider {
    return { name: 'foundry', defaultImage: 'casting', capabilities: { upstream: this.#upstream() } };
  }

  #settle(): void {
    if (!this.#work || this.now() < this.#work.until) return;
    this.state = this.#work.ends;
    this.power = this.state === 'deployed' ? 'on' : 'off';
    this.#work = null;
  }

  #start(request: string, from: readonly UpstreamState[], state: UpstreamState, ends: UpstreamState): void {
    this.#settle();
    if (this.state === null || !from.includes(this.state)) throw refused(request, this.state);
    this.requests.push(request);
    this.state = state;
    this.power = 'on';
    this.#work = { until: this.now() + FOUNDRY_WORK_MS, ends };
  }

  #view(state: UpstreamState): UpstreamMachine {
    const [status, statusMessage] = WORDS[state] ?? ['Unknown', ''];
    return {
      id: 'mould-7',
      hostname: 'mould-7',
      state,
      status,
      statusMessage,
      power: this.power,
      powerType: 'crane',
      isPowerManual: false,
      macAddresses: [],
      image: this.deployment ? 'casting' : null,
      runsImage: (image) => image === 'casting',
      addressInterface: { name: 'port-0', isAutomatic: this.isAddressAssigned, addressMode: 'manual' },
      hardwareSync: { enabled: false, isHealthy: false },
    };
  }

  #read(): UpstreamMachine | null {
    this.#settle();
    return this.state === null ? null : this.#view(this.state);
  }

  #upstream(): Upstream {
    const listed = () => ({ machines: [this.#read()].flatMap((seen) => seen ?? []), unread: [] });
    return {
      product: 'Foundry',
      site: SITE,
      find: async () => listed().machines,
      findOnly: async () => this.#read() ?? Promise.reject(refused('find', null)),
      observe: async () => this.#read(),
      list: async () => listed(),
      listByAddress: async () => listed(),
      checkOwnership: async () => {},
      register: async () => {
        if (this.state !== null) throw refused('register', this.state);
        this.requests.push('register');
        this.state = 'new';
        return 'mould-7';
      },
      missingSettings: async () => null,
      applySettings: async () => {},
      remove: async () => {
        this.requests.push('remove');
        this.state = null;
      },
      commission: async () => this.#start('commission', ['new'], 'commissioning', 'ready'),
      acceptFailedTests: async () => {},
      planStorage: async () => ({ disk: { id: 9, name: 'ladle' }, isBootDisk: this.disk === 9 }),
      applyStorage: async (_call, _id, diskId) => {
        this.disk = diskId;
      },
      assignAddress: async () => {
        this.isAddressAssigned = true;
      },
      deploy: async (_call, _id, deployment) => {
        this.#start('deploy', ['ready'], 'deploying', 'deployed');
        this.deployment = deployment;
      },
      deploymentFailure: async () => ({ cause: 'other', message: 'it leaked' }),
      abort: async () => this.#start('abort', ['commissioning', 'deploying'], 'releasing', 'ready'),
      release: async (_call, _id, { disks }) => {
        if (disks === 'erase') this.erasures += 1;
        const state = disks === 'erase' ? 'erasing' : 'releasing';
        this.#start(`release, ${disks} disks`, ['deployed', 'deployment_failed'], state, 'ready');
        this.deployment = null;
      },
      markErasure: async () => ({ melted: this.erasures }),
      erasureProgress: async (_call, _id, mark) => ({
        isErased: this.#read()?.state === 'ready' && this.erasures > (mark?.melted ?? 0),
        powerOffFailed: false,
      }),
      erasureReport: async () => ({ text: 'Foundry melted the disks', isMissing: false }),
      unblockRelease: async () => 'nothing is stuck in a foundry',
      powerOff: async () => {
        this.requests.push('power off');
        this.power = 'off';
      },
      queryPower: async () => this.power,
    };
  }
}

const SITE = {
  deploys: 'a casting',
  hardwareSync: false,
  waits: { hardwareSyncSeconds: 60, agentSeconds: 60, powerOffSeconds: 60 },
  ssh: null,
  readUserDataTemplate: () => null,
  checkPower: async () => 'a crane',
  acceptsFailedTests: () => false,
  hostnamesOf: ({ machineId }: Machine) => [machineId],
} as const;

function refused(request: string, state: UpstreamState | null): StepFailure {
  const message = `Foundry can't ${request} a machine that is ${state ?? 'not there'}`;
  return new UpstreamFailure({ class: 'needs_human', code: 'EXECUTION_FAILED', message }, null, 'refused');
}
