/**
 * A provider whose machines exist only in the database. It behaves like a real one: work takes time, a task
 * goes on while nobody looks, and what happened is found by looking.
 */

import { inClusterAsSeen } from '../../domain/condition/node-observation.ts';
import type { Erasure } from '../../domain/install/erasure.ts';
import type { Labels } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { sleep } from '../../time/sleep.ts';
import {
  type BootState,
  type ErasingState,
  type ImagingState,
  operationOf,
  type Provider,
  type ProviderCall,
} from '../provider.ts';
import {
  checkFakeLabels,
  FAKE_LABELS,
  failuresWanted,
  hangs,
  isFakeLabel,
  stepDurationMs,
} from './fake-labels.ts';
import {
  type FakeState,
  type FakeStepKind,
  type FakeTask,
  progressOf,
  settle,
  sightOf,
} from './fake-state.ts';

/** Where simulated machines are kept. `update` runs `change` on the state that nobody else is changing. */
export interface FakeWorld {
  read(machineId: string): Promise<FakeState>;
  update(machineId: string, change: (state: FakeState) => FakeState): Promise<FakeState>;
}

type FakeWork = Pick<FakeTask, 'kind' | 'target' | 'netbootImage'>;

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, signal);
  signal.throwIfAborted();
}

export interface FakeProviderOptions {
  readonly name: string;
  readonly world: FakeWorld;
  readonly now: () => number;
  /** Its boots can't be told apart, and a BMC switches its power. */
  readonly switchesPower?: true;
}

const FAILURE_WORDS = {
  netboot: 'the PXE service refused the entry',
  reboot: 'the BMC did not answer the reset command',
  repave: 'the image could not be written: I/O error on /dev/sda',
  erase: 'the disk could not be erased: I/O error on /dev/sda',
  join: 'SSH connection refused',
  shutdown: 'the operating system did not go down',
  exec: 'SSH connection refused',
  cordon: 'the cluster did not take the change',
  drain: 'the workloads did not leave',
  uncordon: 'the cluster did not take the change',
  verify: 'the node is NotReady',
} as const satisfies Record<FakeStepKind, string>;

export function createFakeProvider(options: FakeProviderOptions): Provider {
  const { world, now } = options;

  const look = async (call: ProviderCall): Promise<FakeState> =>
    settle(await world.read(call.machine.machineId), now());

  /** Sets a task off unless this very one is under way or over. How it went is for whoever looks. */
  const setOff = async (call: ProviderCall, work: FakeWork): Promise<void> => {
    await world.update(call.machine.machineId, (before) =>
      begin(fenced(settle(before, now()), call), call, work, now()),
    );
  };

  /** Waits here, as a command on a host would: the caller is on the line until it is over. */
  const settled = async (call: ProviderCall): Promise<void> => {
    for (;;) {
      const state = await look(call);
      throwIfFailed(state, call);
      if (state.task?.key !== call.key) return;
      await pause(msLeft(state, now()), call.signal);
    }
  };

  const onTheLine = async (call: ProviderCall, work: FakeWork): Promise<void> => {
    await setOff(call, work);
    await settled(call);
  };

  return {
    name: options.name,
    defaultImage: 'ubuntu-2204',
    checkLabels: checkFakeLabels,
    readsLabel: isFakeLabel,
    capabilities: {
      power: {
        async bootState(call): Promise<BootState> {
          const state = await look(call);
          throwIfFailed(state, call);
          const rebooting = state.task?.kind === 'reboot';
          return {
            power: state.power,
            bootId: options.switchesPower ? null : String(state.bootCount),
            ready: !rebooting && state.power === 'on',
            pollAfterMs: msLeft(state, now()),
          };
        },
        async reboot(call, mode) {
          call.log(mode === 'ssh' ? 'Rebooting over SSH' : 'Sending IPMI reset command');
          await setOff(call, { kind: 'reboot', target: '' });
          call.log('Waiting for machine to come back');
        },
        async shutDown(call) {
          call.log('Shutting down');
          await setOff(call, { kind: 'shutdown', target: '' });
        },
        ...(options.switchesPower && {
          async switchPower(call: ProviderCall, to: 'on' | 'off') {
            await setOff(taskCall(call, to), { kind: to === 'off' ? 'shutdown' : 'reboot', target: '' });
          },
        }),
      },
      remoteExec: {
        async run(call, { command, quiet }) {
          if (!quiet) call.log(`$ ${command}`);
          await onTheLine(call, { kind: 'exec', target: command });
          return { exitCode: 0, stdout: '' };
        },
      },
      inspect: {
        async host(machine) {
          const state = settle(await world.read(machine.machineId), now());
          const up = state.power === 'on' && state.task?.kind !== 'reboot';
          return up
            ? { ok: true, reason: 'PingOK', message: 'the simulated machine is up' }
            : { ok: false, reason: 'NoAnswer', message: 'the simulated machine is down or rebooting' };
        },
        async bmc(machine) {
          if (machine.spec.bmc_endpoint === '') return null;
          return { ok: true, reason: 'BmcOK', message: 'the simulated BMC answers' };
        },
        async cluster(machine) {
          const wanted = machine.spec.target_cluster_ref;
          if (wanted === '') return null;
          const state = settle(await world.read(machine.machineId), now());
          const sight = sightOf(state, machine.machineId, wanted);
          const { status: ok, ...told } = inClusterAsSeen(sight);
          return { ok, ...told, sight };
        },
      },
      netboot: {
        async bootDevice(call) {
          const state = await look(call);
          throwIfFailed(state, call);
          return {
            device: state.bootDevice,
            image: state.netbootImage,
            pending: state.task?.kind === 'netboot',
            pollAfterMs: msLeft(state, now()),
          };
        },
        async setBootDevice(call, device, image) {
          call.log(
            device === 'pxe' ? `Configuring PXE for ${image}` : `Setting the boot device to ${device}`,
          );
          await setOff(call, { kind: 'netboot', target: device, netbootImage: image });
          if (device === 'pxe') call.log('DHCP updated');
        },
      },
      imaging: {
        async imagingState(call): Promise<ImagingState> {
          const state = await look(call);
          if (state.task?.kind === 'repave') {
            const { key } = state.task;
            return {
              state: 'writing',
              key,
              progress: progressOf(state.task, now()),
              pollAfterMs: msLeft(state, now()),
            };
          }
          if (state.ended?.kind !== 'repave') return { state: 'idle' };
          if (!state.ended.ok) return { state: 'failed', key: state.ended.key, error: FAILURE_WORDS.repave };
          return { state: 'written', key: state.ended.key, image: state.image };
        },
        async startImaging(call, image) {
          call.log(`Writing image ${image}`);
          await setOff(call, { kind: 'repave', target: image });
        },
        async stopImaging(call) {
          await world.update(call.machine.machineId, (before) =>
            stop(fenced(settle(before, now()), call), call),
          );
        },
      },
      erasing: {
        async erasingState(call): Promise<ErasingState> {
          const state = await look(call);
          if (isErasureOf(state.task, call) && state.task) {
            return {
              state: 'erasing',
              key: state.task.key,
              isAtWork: true,
              progress: progressOf(state.task, now()),
              pollAfterMs: msLeft(state, now()),
              detail: 'The simulated disk is being erased',
            };
          }
          const { ended } = state;
          if (!ended || !isErasureOf(ended, call)) return { state: 'idle' };
          if (!ended.ok) return { state: 'failed', key: ended.key, error: FAILURE_WORDS.erase };
          return { state: 'erased', key: ended.key, erasure: simulatedErasure(call, now()) };
        },
        async startErasing(call) {
          const state = await look(call);
          if (isErasureOf(state.task, call) || (isErasureOf(state.ended, call) && state.ended?.ok)) return;
          call.log('Erasing');
          await setOff(call, { kind: 'erase', target: '' });
        },
        async stopErasing() {
          // As with a real machine: what is being erased is not stopped.
        },
      },
      cluster: {
        async membership(call, clusterRef) {
          const state = await look(call);
          throwIfFailed(state, call);
          const joined = state.clusterRef === clusterRef;
          return { joined, pending: state.task?.kind === 'join', pollAfterMs: msLeft(state, now()) };
        },
        async ready(call, clusterRef) {
          const { labels, machineId } = call.machine;
          const state = await look(call);
          if (countFailures(state, labels) < failuresWanted(labels, call.step, 'verify')) {
            await world.update(machineId, (before) => countFailure(before, labels));
            throw new StepFailure({
              class: 'retryable',
              code: 'EXECUTION_FAILED',
              message: FAILURE_WORDS.verify,
            });
          }
          const { node } = sightOf(state, machineId, clusterRef);
          return node?.ready === true && !hangs(labels, call.step, 'verify');
        },
        async join(call, clusterRef) {
          call.log(`Joining ${clusterRef}`);
          await setOff(call, { kind: 'join', target: clusterRef });
        },
        async node(call, clusterRef) {
          const state = await look(call);
          throwIfFailed(state, taskCall(call, 'drain'));
          return {
            sight: sightOf(state, call.machine.machineId, clusterRef),
            pollAfterMs: msLeft(state, now()),
          };
        },
        async cordon(call, clusterRef) {
          const state = await look(call);
          if (state.clusterRef !== clusterRef) throw nodeNotFound(clusterRef, call);
          if (state.cordonedBy === operationOf(call)) return;
          call.log('Cordoning the node');
          await onTheLine(taskCall(call, 'cordon'), { kind: 'cordon', target: operationOf(call) });
        },
        async evict(call) {
          call.log('Evicting workloads');
          await setOff(taskCall(call, 'drain'), { kind: 'drain', target: '' });
          return { refused: '', pollAfterMs: msLeft(await look(call), now()) };
        },
        async uncordon(call, clusterRef, whose) {
          const { cordonedBy, clusterRef: joined } = await look(call);
          if (joined !== clusterRef && whose === 'any') throw nodeNotFound(clusterRef, call);
          if (cordonedBy === '') return true;
          if (whose === 'own' && cordonedBy !== operationOf(call)) return false;
          call.log('Uncordoning the node');
          await onTheLine(taskCall(call, 'uncordon'), { kind: 'uncordon', target: '' });
          return true;
        },
      },
    },
  };
}

function isErasureOf(task: Pick<FakeTask, 'kind' | 'key'> | null, call: ProviderCall): boolean {
  return task?.kind === 'erase' && operationOf(task) === operationOf(call);
}

function simulatedErasure(call: ProviderCall, now: number): Erasure {
  const disk = {
    name: 'sda',
    model: 'simulated',
    serial: call.machine.machineId,
    size_bytes: null,
    method: 'ata-secure-erase',
    result: 'erased',
    verified: 'nothing: the disk is simulated',
    not_done: '',
    seconds: null,
  } as const;
  return {
    outcome: 'erased',
    disks: [disk],
    skipped: [],
    at: new Date(now).toISOString(),
    operation_id: operationOf(call),
  };
}

function nodeNotFound(clusterRef: string, { machine }: ProviderCall): StepFailure {
  return new StepFailure({
    class: 'permanent',
    code: 'NODE_NOT_FOUND',
    message: `${clusterRef} has no node ${machine.machineId}`,
  });
}

/** Several tasks of one attempt: off and on, cordon and drain. */
function taskCall(call: ProviderCall, task: string): ProviderCall {
  const [operation, step, attempt] = call.key.split('/');
  return { ...call, key: `${operation}/${step}-${task}/${attempt}` };
}

function isUndo(call: ProviderCall): boolean {
  return /\/undo-\d+$/.test(call.key);
}

/** Remembers the holder, and counts those that act after a later one. */
function fenced(state: FakeState, call: ProviderCall): FakeState {
  call.checkHeld();
  const operation = operationOf(call);
  const highest = state.fence.operation === operation ? state.fence.highest : 0;
  const stale = call.fence < highest ? 1 : 0;
  return {
    ...state,
    fence: { operation, highest: Math.max(highest, call.fence) },
    staleEffects: state.staleEffects + stale,
  };
}

function begin(state: FakeState, call: ProviderCall, work: FakeWork, now: number): FakeState {
  if (state.task?.key === call.key || state.ended?.key === call.key) return state;
  // Taking something back is not steered: a canceled operation comes to its end.
  const labels = isUndo(call) ? {} : call.machine.labels;
  const fails = countFailures(state, labels) < failuresWanted(labels, call.step, work.kind);
  const outcome = fails ? 'fail' : hangs(labels, call.step, work.kind) ? 'hang' : 'ok';
  const task = {
    key: call.key,
    ...work,
    startedAt: now,
    durationMs: stepDurationMs(call.machine.labels, work.kind),
    outcome,
  } as const;
  return { ...(fails ? countFailure(state, labels) : state), task };
}

/** Another value of the label counts anew. */
function countFailures(state: FakeState, labels: Labels): number {
  return state.failures[labels[FAKE_LABELS.failStep] ?? ''] ?? 0;
}

function countFailure(state: FakeState, labels: Labels): FakeState {
  const label = labels[FAKE_LABELS.failStep] ?? '';
  return { ...state, failures: { ...state.failures, [label]: countFailures(state, labels) + 1 } };
}

/** A half-written disk holds no image. */
function stop(state: FakeState, call: ProviderCall): FakeState {
  const { task } = state;
  if (task?.kind !== 'repave' || !task.key.startsWith(`${operationOf(call)}/`)) return state;
  return { ...state, task: null, image: '', ended: { key: task.key, kind: 'repave', ok: false } };
}

function throwIfFailed(state: FakeState, call: ProviderCall): void {
  if (state.ended?.key !== call.key || state.ended.ok) return;
  throw new StepFailure({
    class: 'retryable',
    code: 'EXECUTION_FAILED',
    message: FAILURE_WORDS[state.ended.kind],
  });
}

/** In a few looks, so that progress can be seen, but never busily. */
function msLeft(state: FakeState, now: number): number {
  if (!state.task) return 0;
  if (state.task.outcome === 'hang') return 60_000;
  const { startedAt, durationMs } = state.task;
  return Math.max(1, Math.min(startedAt + durationMs - now, Math.max(20, durationMs / 5)));
}
