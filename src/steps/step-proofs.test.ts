/**
 * The proofs that every step kind owes: its action may run twice, and it may be broken off at any point. The
 * kinds come from the registry: one without a scenario here fails.
 */
import { describe, expect, it } from 'vitest';
import type { HardwareInventory } from '../domain/install/hardware-inventory.ts';
import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import type { MachineChange } from '../domain/machine/machine-change.ts';
import type { Memo } from '../domain/operation/step.ts';
import type { StepContext, StepHandler } from '../engine/step-handler.ts';
import { type FakeState, settle } from '../providers/fake/fake-state.ts';
import { memoryEvidence, NO_CONTROL_PLANE } from './control-plane.fixture.ts';
import type { ControlPlane } from './control-plane.ts';
import { canUndo, handlerFor, STEP_KINDS } from './registry.ts';
import { type End, type Scenario, type ScenarioWorld, StepRun } from './step-proof.fixture.ts';

interface Proof extends Omit<ScenarioWorld, 'stepMs'> {
  readonly config: Readonly<Record<string, unknown>>;
  /** What the step is for: how the undisturbed run leaves the machine. */
  readonly leaves: { readonly body?: Partial<End['body']>; readonly tasks: readonly string[] };
  /** Its work ends during the call to the provider, and not later in the background. */
  readonly onTheLine?: true;
  /** Doing it again does no harm, and its traces are all there is to see: it may be done again after a crash. */
  readonly harmless?: true;
  /** It can't be observed, so after a crash the next replica must not guess: an operator decides. */
  readonly parksWhenUnknown?: true;
  /** Once started, its work runs to its end and can't be stopped: a cancel does not wait for it. */
  readonly unstoppable?: true;
  /** It is done as soon as its work is seen; that goes on, and is further when it is seen later. */
  readonly goesOn?: true;
  /** How it may be left after a cancel. */
  readonly undone?: (body: End['body']) => boolean;
}

const COMMAND = 'apt-get -y upgrade';
const MEANT_FOR_PROD = { spec: { ...sampleMachine().spec, target_cluster_ref: 'prod' } };

const CLUSTER_PROOFS: Readonly<Record<string, Proof>> = {
  cordon: {
    config: { action: 'cordon', cluster_ref: 'prod' },
    world: { clusterRef: 'prod' },
    leaves: { body: { cordonedBy: 'op-1', drained: false }, tasks: ['cordon op-1'] },
    undone: ({ cordonedBy }) => cordonedBy === '',
  },
  'cordon of a node that an earlier operation cordoned': {
    config: { action: 'cordon', cluster_ref: 'prod' },
    world: { clusterRef: 'prod', cordonedBy: 'op-0' },
    leaves: { body: { cordonedBy: 'op-1' }, tasks: ['cordon op-1'] },
    undone: ({ cordonedBy }) => cordonedBy !== 'op-1',
  },
  drain: {
    config: { action: 'drain', cluster_ref: 'prod' },
    world: { clusterRef: 'prod', cordonedBy: 'op-1' },
    leaves: { body: { cordonedBy: 'op-1', drained: true }, tasks: ['drain'] },
    undone: ({ cordonedBy, drained }) => cordonedBy === '' && !drained,
  },
  uncordon: {
    config: { action: 'uncordon', cluster_ref: 'prod' },
    world: { clusterRef: 'prod', cordonedBy: 'op-1', drained: true },
    leaves: { body: { cordonedBy: '', drained: false }, tasks: ['uncordon'] },
  },
};

/** A control plane that keeps inventories as the store does: by the key of the call that recorded them. */
function recordedInventories(): ControlPlane {
  const recorded = new Map<string, HardwareInventory>();
  return {
    ...NO_CONTROL_PLANE,
    inventories: {
      recordedBy: async ({ key }) => {
        const inventory = recorded.get(key);
        return inventory === undefined ? null : { version: 1, inventory, changes: null };
      },
      record: async ({ key }, _source, inventory) => {
        recorded.set(key, inventory);
      },
      verdict: async () => ({ profiles: ['hgx'], differences: [] }),
    },
  };
}

const keptEvidence = (): ControlPlane => ({ ...NO_CONTROL_PLANE, evidence: memoryEvidence() });
const OS_VOLUME = { name: 'os', level: 'RAID1', drives: ['D1', 'D2'], capacity_bytes: 0 } as const;
const DATA_VOLUME = { name: 'data', level: 'RAID5', drives: ['D3', 'D4', 'D5'], capacity_bytes: 0 } as const;
const isAtRest = ({ power, task }: End['body']) => power === 'on' && task === null;

const HARDWARE_PROOFS: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  'bios-settings': {
    'that differ': {
      config: { attributes: { LogicalProc: 'Disabled' } },
      leaves: {
        body: {
          bios: { LogicalProc: 'Disabled', SriovGlobalEnable: 'Disabled', WorkloadProfile: 'Balanced' },
        },
        tasks: ['bios {"LogicalProc":"Disabled"}', 'reboot'],
      },
      unstoppable: true,
      undone: isAtRest,
    },
    'that differ, by switching the power': {
      config: { attributes: { LogicalProc: 'Disabled' } },
      switchesPower: true,
      leaves: { body: { bootCount: 2 }, tasks: ['bios {"LogicalProc":"Disabled"}', 'shutdown', 'reboot'] },
      undone: isAtRest,
    },
    'that wait for a reset': {
      config: { attributes: { LogicalProc: 'Disabled' } },
      world: { biosPending: { LogicalProc: 'Disabled' } },
      leaves: { body: { bootCount: 2 }, tasks: ['reboot'] },
      unstoppable: true,
      undone: isAtRest,
    },
    'that are as wanted': {
      config: { attributes: { LogicalProc: 'Enabled', SriovGlobalEnable: 'Disabled' } },
      leaves: { body: { bootCount: 1 }, tasks: [] },
      undone: isAtRest,
    },
  },
  'boot-order': {
    'that differs': {
      config: { order: ['pxe'] },
      leaves: {
        body: { bootOrder: ['pxe', 'disk', 'http'], bootCount: 1 },
        tasks: ['boot-order ["pxe","disk","http"]'],
      },
      undone: isAtRest,
    },
    'that is as wanted': {
      config: { order: ['disk', 'pxe'] },
      leaves: { tasks: [] },
      undone: isAtRest,
    },
  },
  'firmware-update': {
    'to another version': {
      config: { component: 'BIOS', version: '2.0', image_url: 'http://site/bios', sha256: '0'.repeat(64) },
      leaves: { body: { firmware: { BIOS: '2.0', BMC: '1.0' } }, tasks: ['firmware {"BIOS":"2.0"}'] },
      // What has started is waited for: it is never half written.
      undone: ({ firmware, task }) => ['1.0', '2.0'].includes(firmware.BIOS ?? '') && task === null,
    },
    'to the version that it has': {
      config: { component: 'BIOS', version: '1.0', image_url: 'http://site/bios', sha256: '0'.repeat(64) },
      leaves: { tasks: [] },
      undone: isAtRest,
    },
  },
  raid: {
    'of two volumes in place of another': {
      config: { volumes: [OS_VOLUME, DATA_VOLUME], destroy_existing: true },
      world: { volumes: [{ ...OS_VOLUME, name: 'old' }] },
      leaves: {
        body: { volumes: [OS_VOLUME, DATA_VOLUME] },
        tasks: [
          expect.stringMatching(/^volume .*"kind":"delete".*"name":"old"/),
          expect.stringMatching(/^volume .*"kind":"create".*"name":"os"/),
          expect.stringMatching(/^volume .*"kind":"create".*"name":"data"/),
        ],
      },
      undone: isAtRest,
    },
    'that is there': {
      config: { volumes: [OS_VOLUME] },
      world: { volumes: [OS_VOLUME] },
      leaves: { tasks: [] },
      undone: isAtRest,
    },
  },
};

const BURN_IN_PROOFS: Readonly<Record<string, Proof>> = {
  'of two parts': {
    config: { tests: ['cpu', 'memory'], seconds: 60 },
    leaves: { tasks: ['burn-in cpu,memory'] },
    undone: isAtRest,
  },
};

/** The BMC answers when it is done. */
const BMC_PROOFS: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  power: {
    'off at once': {
      config: { action: 'off' },
      leaves: { body: { power: 'off' }, tasks: ['shutdown'] },
    },
    'off by the operating system': {
      config: { action: 'shutdown' },
      leaves: { body: { power: 'off' }, tasks: ['shutdown'] },
    },
    'on of a machine that is off': {
      config: { action: 'on' },
      world: { power: 'off' },
      leaves: { body: { power: 'on', bootCount: 2 }, tasks: ['reboot'] },
    },
    reset: {
      config: { action: 'reset' },
      onTheLine: true,
      parksWhenUnknown: true,
      leaves: { body: { bootCount: 2 }, tasks: ['reboot'] },
    },
    'cycle of a machine that is off': {
      config: { action: 'cycle' },
      world: { power: 'off' },
      leaves: { body: { power: 'on', bootCount: 2 }, tasks: ['reboot'] },
    },
    nmi: {
      config: { action: 'nmi' },
      onTheLine: true,
      parksWhenUnknown: true,
      leaves: { tasks: ['bmc nmi'] },
    },
  },
  'power-cap': {
    'set to a number of watts': {
      config: { watts: 450 },
      leaves: { body: { bmc: { limitWatts: 450 } }, tasks: ['bmc limitWatts 450'] },
    },
    removed: {
      config: { watts: null },
      world: { bmc: { limitWatts: 450 } },
      leaves: { body: { bmc: { limitWatts: null } }, tasks: ['bmc limitWatts null'] },
    },
  },
  'clear-log': {
    'of a BMC with entries': {
      config: {},
      onTheLine: true,
      leaves: { body: { bmc: { logEntries: 0 } }, tasks: ['bmc logEntries 0'] },
    },
  },
  'bmc-reset': {
    'of a machine that goes on': {
      config: {},
      harmless: true,
      leaves: { body: { power: 'on', bootCount: 1 }, tasks: ['bmc reset'] },
    },
  },
  'boot-override': {
    'to the set-up, once': {
      config: { source: 'setup' },
      leaves: {
        body: { bmc: { boot: expect.objectContaining({ source: 'setup', lasts: 'once' }) } },
        tasks: [expect.stringMatching(/^bmc boot .*"setup"/)],
      },
    },
    'to the network, for every boot': {
      config: { source: 'pxe', lasts: 'always', mode: 'Legacy' },
      leaves: {
        body: {
          bmc: { boot: expect.objectContaining({ source: 'pxe', lasts: 'always', mode: 'Legacy' }) },
        },
        tasks: [expect.stringMatching(/^bmc boot .*"pxe"/)],
      },
    },
  },
  'rotate-password': {
    'of an account': {
      config: {},
      leaves: {
        body: { bmc: { password: 'none', rotations: 1 } },
        tasks: ['bmc password "prepared"', 'bmc password "changed"', 'bmc password "none"'],
      },
      // Never left between two passwords, wherever the cancel struck.
      undone: ({ bmc }) => (bmc?.password ?? 'none') === 'none',
    },
  },
};

const PROOFS: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  ...BMC_PROOFS,
  netboot: {
    'to PXE': {
      config: { mode: 'PXE', image: 'debian-12' },
      leaves: { body: { bootDevice: 'pxe' }, tasks: ['netboot pxe'] },
      undone: ({ bootDevice, task }) => bootDevice === 'disk' && task === null,
    },
    'to disk': {
      config: { mode: 'DISK' },
      world: { bootDevice: 'pxe' },
      leaves: { body: { bootDevice: 'disk' }, tasks: ['netboot disk'] },
      undone: ({ bootDevice, task }) => bootDevice === 'disk' && task === null,
    },
  },
  reboot: {
    'over the BMC': {
      config: {},
      leaves: { body: { bootCount: 2, power: 'on' }, tasks: ['reboot'] },
      unstoppable: true,
      undone: ({ power }) => power === 'on',
    },
    'over SSH': {
      config: { mode: 'ssh' },
      leaves: { body: { bootCount: 2 }, tasks: ['reboot'] },
      unstoppable: true,
      undone: ({ power }) => power === 'on',
    },
    'by switching the power': {
      config: {},
      switchesPower: true,
      leaves: { body: { bootCount: 2, power: 'on' }, tasks: ['shutdown', 'reboot'] },
      // Never left off, wherever the cancel struck.
      undone: ({ power, task }) => power === 'on' && task === null,
    },
    'by switching the power, of a machine that is off': {
      config: {},
      switchesPower: true,
      world: { power: 'off' },
      leaves: { body: { bootCount: 2, power: 'on' }, tasks: ['reboot'] },
      undone: ({ task }) => task === null,
    },
  },
  repave: {
    'of a machine in a cluster': {
      config: { image: 'debian-12' },
      world: { image: 'old', bootDevice: 'pxe', clusterRef: 'prod' },
      leaves: {
        body: { image: 'debian-12', bootDevice: 'disk', clusterRef: '' },
        tasks: ['repave debian-12'],
      },
      // Not started, stopped half-way, or complete; a write never goes on unnoticed.
      undone: ({ image, task }) => ['old', '', 'debian-12'].includes(image) && task === null,
    },
  },
  'boot-eraser': {
    'of a machine with an image': {
      config: {},
      world: { image: 'old', clusterRef: 'prod' },
      leaves: { body: { image: '', clusterRef: '' }, tasks: ['erase'] },
      goesOn: true,
      unstoppable: true,
      undone: ({ image, task }) => ['old', ''].includes(image) && task === null,
    },
  },
  'erase-disks': {
    'by the BMC': {
      config: { by: 'bmc' },
      world: { image: 'old', clusterRef: 'prod' },
      controlPlane: keptEvidence,
      leaves: { body: { image: '', clusterRef: '', power: 'on' }, tasks: ['drive-erase sda'] },
      undone: ({ image, task }) => ['old', ''].includes(image) && task === null,
    },
    'of a machine with an image': {
      config: { overwrite: 'whole' },
      controlPlane: keptEvidence,
      world: { image: 'old', clusterRef: 'prod' },
      leaves: { body: { image: '', clusterRef: '', power: 'off' }, tasks: ['erase'] },
      // A started erasure always runs to its end, never half.
      unstoppable: true,
      undone: ({ image, task }) => ['old', ''].includes(image) && task === null,
    },
  },
  join: {
    'a cluster': {
      config: { cluster_ref: 'prod' },
      leaves: { body: { clusterRef: 'prod' }, tasks: ['join prod'] },
    },
  },
  verify: {
    'a node that is ready': {
      config: { cluster_ref: 'prod' },
      world: { clusterRef: 'prod' },
      leaves: { tasks: [] },
    },
  },
  phase: {
    'to READY': { config: { phase: 'READY' }, leaves: { tasks: [] } },
    'to where it is': { config: { phase: 'MAINTENANCE' }, leaves: { tasks: [] } },
  },
  ssh: {
    'that may be repeated': {
      config: { command: COMMAND, repeatable: true },
      onTheLine: true,
      harmless: true,
      leaves: { tasks: [`exec ${COMMAND}`] },
    },
    'that may run only once': {
      config: { command: COMMAND },
      onTheLine: true,
      parksWhenUnknown: true,
      leaves: { tasks: [`exec ${COMMAND}`] },
    },
    'whose check passes': {
      config: { command: COMMAND, check: 'true' },
      onTheLine: true,
      harmless: true,
      leaves: { tasks: ['exec true'] },
    },
  },
  net: {
    'with a file': {
      config: { action: 'apply', netplan: 'network: {}' },
      onTheLine: true,
      harmless: true,
      leaves: {
        tasks: [
          expect.stringMatching(/^exec .*cat > \/etc\/netplan\/90-ingot.yaml.new && mv /s),
          expect.stringMatching(/^exec .*as netplan apply$/s),
        ],
      },
    },
    verified: {
      config: { action: 'verify' },
      onTheLine: true,
      harmless: true,
      leaves: { tasks: ['exec ip -brief address && ip route'] },
    },
  },
  inspect: {
    'of a machine that is up': {
      config: {},
      onTheLine: true,
      harmless: true,
      controlPlane: recordedInventories,
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
    'in band, by the installer': {
      config: { in_band: true },
      controlPlane: recordedInventories,
      leaves: { tasks: ['burn-in inspection'] },
      undone: isAtRest,
    },
  },
  media: {
    'inserted into an empty drive': {
      config: { action: 'insert', url: 'http://site/rescue.iso' },
      leaves: { body: { media: 'http://site/rescue.iso' }, tasks: ['media http://site/rescue.iso'] },
      undone: ({ media, task }) => media === '' && task === null,
    },
    'inserted in place of another': {
      config: { action: 'insert', url: 'http://site/rescue.iso' },
      world: { media: 'http://site/old.iso' },
      leaves: { body: { media: 'http://site/rescue.iso' }, tasks: ['media http://site/rescue.iso'] },
      undone: ({ media, task }) => media !== 'http://site/rescue.iso' && task === null,
    },
    ejected: {
      config: { action: 'eject' },
      world: { media: 'http://site/rescue.iso' },
      leaves: { body: { media: '' }, tasks: [expect.stringMatching(/^media/)] },
    },
  },
  ...HARDWARE_PROOFS,
  'burn-in': BURN_IN_PROOFS,
  'verify-hardware': {
    'of a machine as it is expected': {
      config: {},
      controlPlane: recordedInventories,
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
  },
  cluster: CLUSTER_PROOFS,
  rma: {
    'drain-check of a machine that belongs to no cluster': {
      config: { action: 'drain-check' },
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
    'drain-check of a machine that is not in its cluster': {
      config: { action: 'drain-check' },
      machine: MEANT_FOR_PROD,
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
    'drain-check of a machine in service': {
      config: { action: 'drain-check' },
      machine: MEANT_FOR_PROD,
      world: { clusterRef: 'prod' },
      leaves: { body: { drained: true, cordonedBy: 'op-1' }, tasks: ['cordon op-1', 'drain'] },
      undone: ({ cordonedBy, drained }) => cordonedBy === '' && !drained,
    },
    'graceful-shutdown': {
      config: { action: 'graceful-shutdown' },
      leaves: { body: { power: 'off' }, tasks: ['shutdown'] },
    },
    'mark-rma': { config: { action: 'mark-rma' }, leaves: { tasks: [] } },
  },
};

/**
 * Stages work on MAAS, which the fake provider has not: test/maas breaks each of them off at every boundary. Those of a
 * migration work on the inventory: migration-proofs.test.ts does it to them.
 */
const PROVED_ELSEWHERE = ['stage', 'replace-hardware', 'await-replacement', 'finish-migration'];

it('every step kind has its proofs, and every proof its kind', () => {
  expect([...Object.keys(PROOFS), ...PROVED_ELSEWHERE].toSorted()).toEqual([...STEP_KINDS.keys()].toSorted());
});

const cases = [...STEP_KINDS.keys()].flatMap((kind) =>
  Object.entries(PROOFS[kind] ?? {}).map(([name, proof]) => {
    const scenario: Scenario = { ...proof, kind, stepMs: proof.onTheLine ? 0 : 1_000 };
    return [`${kind} ${name}`, scenario, proof] as const;
  }),
);

/** Drives a handler by hand, with a memo that outlives it as the operation's row does. */
class ByHand {
  readonly run: StepRun;
  memo: Memo = {};
  #fence = 0;

  constructor(scenario: Scenario) {
    this.run = new StepRun(scenario);
  }

  handler(): StepHandler<MachineChange> {
    this.#fence += 1;
    return handlerFor(this.run.step, this.run);
  }

  context(): StepContext {
    const hand = this;
    const { signal } = new AbortController();
    return {
      operationId: 'op-1',
      step: this.run.step.name,
      attempt: 1,
      round: 0,
      fence: this.#fence,
      checkHeld: () => {},
      get memo() {
        return hand.memo;
      },
      signal,
      now: () => new Date(this.run.clock.ms),
      log: () => {},
      save: async (memo) => {
        this.memo = memo;
      },
      effect: (work) => work(signal),
    };
  }

  /** Observes, acts where nothing is observed, and waits, until it is done; returns its effects on the machine. */
  async toDone(handler = this.handler()): Promise<MachineChange | undefined> {
    for (let pass = 0; pass < 100; pass += 1) {
      const seen = await handler.observe(this.context());
      if (seen.seen === 'done') return seen.change;
      if (seen.seen === 'failed') throw new Error(seen.failure.message);
      if (seen.seen === 'under_way') this.run.clock.ms += Math.max(1, seen.pollAfterMs);
      if (seen.seen === 'unobservable' && seen.failure) throw new Error(seen.failure.message);
      if (!isToBeActedOn(seen.seen)) continue;
      const acted = await handler.act(this.context());
      if (acted.result === 'done') return acted.change;
      if (acted.result === 'failed') throw new Error(acted.failure.message);
      this.run.clock.ms += acted.pollAfterMs;
    }
    throw new Error('never done');
  }

  async undo(handler = this.handler()): Promise<string> {
    for (let pass = 0; pass < 100; pass += 1) {
      const result = await handler.undo?.(this.context());
      if (result?.result === 'done') return result.message;
      if (result?.result !== 'started') throw new Error('can’t be undone');
      this.run.clock.ms += Math.max(1, result.pollAfterMs);
    }
    throw new Error('never undone');
  }

  async left(): Promise<{ state: Omit<FakeState, 'fence' | 'ended'>; tasks: string[] }> {
    const {
      fence: _fence,
      ended: _ended,
      ...state
    } = settle(await this.run.world.read('m-1'), Number.MAX_SAFE_INTEGER);
    return { state, tasks: this.run.world.tasks.map(({ key }) => key) };
  }
}

describe.each(cases)('%s', (_title, scenario, proof) => {
  const undisturbed = () => new StepRun(scenario).toTheEnd();
  const counted = <T>(tasks: readonly T[]) => (proof.harmless ? [...new Set(tasks)] : tasks);
  const comparable = <Left extends { readonly tasks: readonly string[] }>(left: Left) => ({
    ...left,
    ...(proof.goesOn && { underWay: true }),
    tasks: counted(left.tasks),
  });

  it('does what it is for', async () => {
    const end = await undisturbed();
    expect(end).toMatchObject({ status: 'completed', step: 'succeeded', attempts: 1 });
    expect(end.body).toMatchObject({ ...proof.leaves.body, task: null, staleEffects: 0 });
    expect(end.tasks).toEqual(proof.leaves.tasks);
  });

  it('runs twice with the same end', async () => {
    const hand = new ByHand(scenario);
    const change = await hand.toDone();
    const left = comparable(await hand.left());
    hand.run.clock.ms += 60_000;
    if (proof.parksWhenUnknown) await expect(hand.toDone()).rejects.toThrow(/its end was not seen/);
    else expect(await hand.toDone()).toEqual(change);
    expect(comparable(await hand.left())).toEqual(left);
  });

  it('may be started twice before it is observed', async () => {
    const once = new ByHand(scenario);
    await once.toDone();
    const twice = new ByHand(scenario);
    const first = twice.handler();
    if (isToBeActedOn((await first.observe(twice.context())).seen)) {
      await first.act(twice.context());
      if (proof.parksWhenUnknown) return;
      await twice.handler().act(twice.context());
      if (!proof.onTheLine) await twice.toDone();
    }
    expect(comparable(await twice.left())).toEqual(comparable(await once.left()));
  });

  it('goes on where another holder left it', async () => {
    const hand = new ByHand(scenario);
    const first = hand.handler();
    if (isToBeActedOn((await first.observe(hand.context())).seen)) await first.act(hand.context());
    hand.run.clock.ms += scenario.stepMs / 2;
    if (proof.parksWhenUnknown) return;
    await hand.toDone();
    const started = hand.run.world.tasks.map(({ kind, target }) => `${kind} ${target}`.trim());
    expect(counted(started)).toEqual(proof.leaves.tasks);
  });

  // A lease that ends while the work is under way, and one that ends long after it.
  it.each([100])('may die at any point (taken over after %i ms)', proveDeaths);
  it.each([10_000])('may die at any point (taken over after %i ms)', { tags: ['extended'] }, proveDeaths);

  async function proveDeaths(leaseMs: number): Promise<void> {
    const expected = await undisturbed();
    const { points } = await measured(scenario);
    expect(points).toBeGreaterThan(1);
    const parked: number[] = [];
    for (let at = 0; at < points; at += 1) {
      const end = await new StepRun(scenario, { dieAt: at, leaseMs }).toTheEnd();
      if (proof.parksWhenUnknown && end.error === 'EFFECT_UNKNOWN') {
        parked.push(at);
        expect(end.tasks.length).toBeLessThanOrEqual(1);
        expect(end.status).toBe('failed_manual_intervention');
      } else expect(comparable(end), `death at point ${at}`).toEqual(comparable(expected));
    }
    expect(parked.length > 0).toBe(proof.parksWhenUnknown === true);
    expect(parked.length).toBeLessThan(points);
  }

  it('may be canceled at any point', async () => {
    const { points, end: expected } = await measured(scenario);
    for (let at = 0; at < points; at += 1) {
      const end = await new StepRun(scenario, { cancelAt: at }).toTheEnd();
      if (end.status === 'completed') expect(comparable(end)).toEqual(comparable(expected));
      else {
        expect(end.status, `cancel at point ${at}`).toBe('cancelled');
        if (proof.undone) {
          expect(proof.undone(end.body), JSON.stringify(end)).toBe(true);
          if (!proof.unstoppable) expect(end.underWay, JSON.stringify(end)).toBe(false);
        }
      }
    }
  });
});

/** Where nothing is set off there is nothing to undo. */
const undoable = cases.filter(
  ([, scenario, { leaves }]) => canUndo(new StepRun(scenario).step) && leaves.tasks.length > 0,
);

it('a kind can be undone exactly when its handler knows how', () => {
  for (const [, scenario, proof] of cases) {
    const hand = new ByHand(scenario);
    const handler = hand.handler();
    expect(handler.undo !== undefined, scenario.kind).toBe(canUndo(hand.run.step));
    expect(proof.undone !== undefined, scenario.kind).toBe(handler.undo !== undefined);
  }
});

describe.each(undoable)('undoing %s', (_title, scenario, proof) => {
  it.each([
    ['before it was set off', 0],
    ['half-way', 0.5],
    ['when it was done', 2],
  ])('%s may be done twice', async (when, part) => {
    const hand = new ByHand(scenario);
    if (when !== 'before it was set off') await hand.handler().act(hand.context());
    hand.run.clock.ms += scenario.stepMs * part;
    await hand.undo();
    const undoneAt = hand.run.clock.ms;
    const left = await hand.left();
    hand.run.clock.ms += 60_000;
    await hand.undo();
    expect(await hand.left()).toEqual(left);
    expect(proof.undone?.(left.state)).toBe(true);
    if (proof.unstoppable) return;
    expect(settle(await hand.run.world.read('m-1'), undoneAt).task).toBeNull();
  });

  it.each([100])('may die at any point (taken over after %i ms)', proveDeaths);
  it.each([10_000])('may die at any point (taken over after %i ms)', { tags: ['extended'] }, proveDeaths);

  async function proveDeaths(leaseMs: number): Promise<void> {
    // Canceled in the first call that changes something, so that there is something to undo.
    const cancelAt = await firstPointWithTask(scenario);
    const undisturbed = new StepRun(scenario, { cancelAt, leaseMs });
    expect(await undisturbed.toTheEnd()).toMatchObject({ status: 'cancelled', step: 'undone' });
    expect(undisturbed.points).toBeGreaterThan(cancelAt + 2);
    for (let dieAt = cancelAt + 1; dieAt < undisturbed.points; dieAt += 1) {
      const end = await new StepRun(scenario, { cancelAt, dieAt, leaseMs }).toTheEnd();
      const { status, step, error, attempts, body, underWay } = end;
      // Work that was complete when the next holder came has other things to take back than work half done.
      expect({ status, step, error, attempts, underWay }, `death at point ${dieAt}`).toEqual({
        status: 'cancelled',
        step: 'undone',
        error: undefined,
        attempts: 1,
        underWay: proof.unstoppable ? underWay : false,
      });
      expect(proof.undone?.(body), `death at point ${dieAt}: ${JSON.stringify(body)}`).toBe(true);
      expect(body.staleEffects).toBe(0);
    }
  }
});

async function measured(scenario: Scenario): Promise<{ points: number; end: End }> {
  const run = new StepRun(scenario);
  const end = await run.toTheEnd();
  return { points: run.points, end };
}

function isToBeActedOn(seen: string): boolean {
  return seen === 'absent' || seen === 'unobservable';
}

/** The first point at which a task is under way: right after the call that set it off. */
async function firstPointWithTask(scenario: Scenario): Promise<number> {
  for (let dieAt = 0; dieAt < 100; dieAt += 1) {
    const run = new StepRun(scenario, { dieAt });
    await run.untilDeath();
    if (run.world.tasks.length > 0) return dieAt;
  }
  throw new Error('it never begins a task');
}
