/**
 * The simulated machine: a value, and what time does to it. Work is a task with a start and a duration; when it
 * is over, its effect is in the state. Nothing runs in the background, so a simulated machine survives every
 * crash of the programs that drive it.
 */
import type { NodeObservation } from '../../domain/condition/node-observation.ts';
import type { BiosRequest, VolumeChange, VolumeRequest } from '../../domain/hardware/hardware-change.ts';
import { type FakeBmc, fakeBmcAfter } from './fake-bmc.ts';

export type FakeTaskKind =
  | 'netboot'
  | 'reboot'
  | 'repave'
  | 'erase'
  | 'join'
  | 'shutdown'
  | 'exec'
  | 'cordon'
  | 'drain'
  | 'uncordon'
  | 'media'
  | 'bios'
  | 'boot-order'
  | 'firmware'
  | 'volume'
  | 'drive-erase'
  | 'burn-in'
  | 'bmc';

/** What the steering labels may name: a task, or the check that has no task of its own. */
export type FakeStepKind = FakeTaskKind | 'verify';

export interface FakeTask {
  readonly key: string;
  readonly kind: FakeTaskKind;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: 'ok' | 'fail' | 'hang';
  /** The boot device, the image, the cluster, the operation that cordons; JSON where it is more. */
  readonly target: string;
  /** What the network serves to a machine that boots from it. */
  readonly netbootImage?: string;
}

export interface FakeState {
  readonly power: 'on' | 'off';
  readonly bootCount: number;
  readonly bootDevice: string;
  readonly netbootImage: string;
  readonly image: string;
  /** The address of what is in the virtual drive; empty: nothing is. */
  readonly media: string;
  readonly bios: BiosRequest;
  /** For the next boot. */
  readonly biosPending: BiosRequest;
  readonly bootOrder: readonly string[];
  /** Versions, by component. */
  readonly firmware: Readonly<Record<string, string>>;
  readonly volumes: readonly VolumeRequest[];
  /** What differs from that of a new machine. */
  readonly bmc?: Partial<FakeBmc>;
  readonly clusterRef: string;
  /** The operation that cordoned its node; empty: the node takes work, and carries some. */
  readonly cordonedBy: string;
  /** Its workloads have left. Only of a node that is cordoned. */
  readonly drained: boolean;
  readonly task: FakeTask | null;
  /** The task that ended last. */
  readonly ended: { readonly key: string; readonly kind: FakeTaskKind; readonly ok: boolean } | null;
  /** How often each value of the label fake/fail-step has made a step fail. */
  readonly failures: Readonly<Record<string, number>>;
  /** The largest fence seen, by operation; a smaller one afterwards comes from a holder that lost its lease. */
  readonly fence: { readonly operation: string; readonly highest: number };
  readonly staleEffects: number;
}

export const NEW_FAKE_STATE: FakeState = {
  power: 'on',
  bootCount: 1,
  bootDevice: 'disk',
  netbootImage: '',
  image: '',
  media: '',
  bios: { LogicalProc: 'Enabled', SriovGlobalEnable: 'Disabled', WorkloadProfile: 'Balanced' },
  biosPending: {},
  bootOrder: ['disk', 'pxe', 'http'],
  firmware: { BIOS: '1.0', BMC: '1.0' },
  volumes: [],
  clusterRef: '',
  cordonedBy: '',
  drained: false,
  task: null,
  ended: null,
  failures: {},
  fence: { operation: '', highest: 0 },
  staleEffects: 0,
};

/** The state at a time: a task that is over has had its effect. */
export function settle(state: FakeState, now: number): FakeState {
  const { task } = state;
  if (!task || task.outcome === 'hang' || now < task.startedAt + task.durationMs) return state;
  const ended = { key: task.key, kind: task.kind, ok: task.outcome === 'ok' };
  const over = { ...state, task: null, ended };
  return ended.ok ? { ...over, ...effectOf(task, state) } : over;
}

const TAKES_WORK = { cordonedBy: '', drained: false } as const;

function effectOf(task: FakeTask, state: FakeState): Partial<FakeState> {
  switch (task.kind) {
    case 'netboot':
      return { bootDevice: task.target, netbootImage: task.netbootImage ?? '' };
    case 'reboot':
      return {
        power: 'on',
        bootCount: state.bootCount + 1,
        bios: { ...state.bios, ...state.biosPending },
        biosPending: {},
      };
    case 'repave':
      // A machine that was imaged from the network boots from its disk afterwards, and is in no cluster.
      return { image: task.target, bootDevice: 'disk', netbootImage: '', clusterRef: '', ...TAKES_WORK };
    case 'erase':
      return { image: '', clusterRef: '', power: 'off', ...TAKES_WORK };
    case 'join':
      return { clusterRef: task.target, ...TAKES_WORK };
    case 'shutdown':
      return { power: 'off' };
    case 'cordon':
      return { cordonedBy: task.target };
    case 'drain':
      // Nothing can be seen to leave a machine that is off.
      return { drained: state.cordonedBy !== '' && state.power === 'on' };
    case 'uncordon':
      return TAKES_WORK;
    case 'media':
      return { media: task.target };
    case 'bmc':
      return { bmc: fakeBmcAfter(state, task.target) };
    case 'bios':
      return { biosPending: JSON.parse(task.target) as BiosRequest };
    case 'boot-order':
      return { bootOrder: JSON.parse(task.target) as string[] };
    case 'firmware':
      return { firmware: { ...state.firmware, ...(JSON.parse(task.target) as Record<string, string>) } };
    case 'volume': {
      const change = JSON.parse(task.target) as VolumeChange;
      const others = state.volumes.filter(({ name }) => change.kind === 'create' || name !== change.name);
      return { volumes: change.kind === 'create' ? [...others, change.volume] : others };
    }
    case 'drive-erase':
      return { image: '', clusterRef: '', ...TAKES_WORK };
    case 'burn-in':
    case 'exec':
      return {};
  }
}

export function progressOf(task: FakeTask, now: number): number {
  if (task.durationMs <= 0) return 100;
  return Math.max(0, Math.min(100, Math.floor(((now - task.startedAt) / task.durationMs) * 100)));
}

/** What its cluster would say of the node. A machine in a cluster carries a workload until it is drained. */
export function sightOf(state: FakeState, name: string, cluster: string): NodeObservation {
  if (state.clusterRef !== cluster) return { cluster, name, node: null };
  const isOn = state.power === 'on';
  const node = {
    ready: isOn,
    lost: !isOn,
    why: isOn ? '' : 'the simulated machine is off',
    takesWork: state.cordonedBy === '',
    kubeletVersion: 'v1.31.2',
    workloads: state.drained
      ? { count: 0, ending: 0 }
      : { count: 1, ending: state.task?.kind === 'drain' ? 1 : 0 },
  };
  return { cluster, name, node };
}
