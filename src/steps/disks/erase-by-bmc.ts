/**
 * Erases the drives of a machine through its BMC. Which drives there are is remembered first; then each is started, with its start remembered
 * before and its task after. An erasure that may have been started is started again: it destroys nothing that was to stay.
 */
import { type Failure, failureOf } from '../../domain/error/failure.ts';
import type { BmcTaskState, ErasableDrive } from '../../domain/hardware/hardware-change.ts';
import { type Erasure, eraseOutcome, erasureText } from '../../domain/install/erasure.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import {
  type Observation,
  type StepContext,
  StepFailure,
  type StepHandler,
} from '../../engine/step-handler.ts';
import { requireMaintenance } from '../hardware/raid.ts';
import { callOf, type StepEnvironment, undoCallOf } from '../step-kind.ts';
import { eraseFailureOf } from './erase-step.ts';

interface DriveMemo extends ErasableDrive {
  /** It is about to be started, or was. */
  readonly asked?: true;
  readonly startedAt?: string;
  /** Null: the BMC has no task for it. */
  readonly task?: string | null;
  readonly end?: 'unknown';
  readonly endedAt?: string;
  /** Why it is not erased. */
  readonly problem?: string;
}

type Environment = StepEnvironment<'drives'>;
const POLL_AFTER_MS = 5_000;

export function eraseByBmc(environment: Environment): StepHandler<MachineChange> {
  const { machine, capabilities, controlPlane } = environment;
  const { drives: control } = capabilities;
  return {
    async observe(context) {
      if (drivesOf(context) === undefined) return { seen: 'absent' };
      const { drives, percents } = await followed(context, environment);
      if (drives.some(({ startedAt }) => startedAt === undefined)) return { seen: 'absent', next: true };
      const running = drives.filter(({ endedAt }) => endedAt === undefined);
      if (running.length > 0)
        return {
          seen: 'under_way',
          reason: `erasing ${running.map(({ name }) => name).join(', ')}`,
          pollAfterMs: POLL_AFTER_MS,
          progress: Math.floor((percents + 100 * (drives.length - running.length)) / drives.length),
        };
      const failure = failureIn(drives);
      if (failure !== null) return { seen: 'failed', failure };
      if (!(await controlPlane.evidence.isRecorded(callOf(context, machine))))
        return { seen: 'absent', next: true };
      return erased(erasureOf(context, drives));
    },
    async act(context) {
      const call = callOf(context, machine);
      requireMaintenance(machine);
      const drives = drivesOf(context) ?? (await foundDrives(context, environment));
      const next = drives.find(({ startedAt }) => startedAt === undefined);
      if (next === undefined) {
        await context.effect(() => controlPlane.evidence.record(call, erasureOf(context, drives), 'bmc'));
        return { result: 'started', reason: 'the evidence is kept', pollAfterMs: 1 };
      }
      await saveDrive(context, { ...next, asked: true });
      const started = await context.effect(() => control.erase(call, next.path));
      await saveDrive(context, { ...next, asked: true, startedAt: context.now().toISOString(), ...started });
      return { result: 'started', reason: `erasing ${next.name}`, pollAfterMs: 1 };
    },
    afterFailure: eraseFailureOf(machine),
    async undo(context) {
      const drives = drivesOf(context) ?? [];
      const call = undoCallOf(context, machine);
      for (const { path, task } of drives.filter((drive) => drive.endedAt === undefined)) {
        const known = task ?? (await control.findErasure(call, path));
        const progress = known === null ? null : await control.taskState(call, known);
        if (progress?.state === 'running') return NOT_STOPPED;
      }
      const asked = drives.filter((drive) => drive.asked).map(({ name }) => name);
      const message =
        asked.length === 0 ? 'nothing was erased' : `erased, or about to be: ${asked.join(', ')}`;
      return { result: 'done', message };
    },
  };
}

const NOT_STOPPED = {
  result: 'started',
  reason: 'an erasure that has started is not stopped',
  pollAfterMs: POLL_AFTER_MS,
} as const;

async function foundDrives(
  context: StepContext,
  { machine, capabilities: { drives: control } }: Environment,
): Promise<readonly DriveMemo[]> {
  const drives = await control.list(callOf(context, machine));
  checkErasable(drives);
  await context.save({ drives });
  return drives;
}

function drivesOf({ memo }: StepContext): readonly DriveMemo[] | undefined {
  return memo.drives as readonly DriveMemo[] | undefined;
}

async function saveDrive(context: StepContext, drive: DriveMemo): Promise<void> {
  const drives = (drivesOf(context) ?? []).map((each) => (each.path === drive.path ? drive : each));
  await context.save({ ...context.memo, drives });
}

/** Asks for what is under way, and remembers what is over. */
async function followed(
  context: StepContext,
  { machine, capabilities: { drives: control } }: Environment,
): Promise<{ readonly drives: readonly DriveMemo[]; readonly percents: number }> {
  const call = callOf(context, machine);
  let percents = 0;
  for (const drive of drivesOf(context) ?? []) {
    if (drive.startedAt === undefined || drive.endedAt !== undefined) continue;
    const task = drive.task ?? (await control.findErasure(call, drive.path));
    const progress = task === null ? null : await control.taskState(call, task);
    if (progress?.state === 'running' || progress?.state === 'waits_for_reset') {
      percents += progress.percent ?? 0;
      // One that was found shows later what became of it.
      if (drive.task === null) await saveDrive(context, { ...drive, task });
      continue;
    }
    const endedAt = context.now().toISOString();
    const problem = progress === null ? UNKNOWN_END[drive.end ?? 'known'] : problemOf(progress);
    context.log(`${drive.name}: ${problem ?? 'erased'}`, problem === undefined ? 'stdout' : 'stderr');
    await saveDrive(context, { ...drive, endedAt, ...(problem !== undefined && { problem }) });
  }
  return { drives: drivesOf(context) ?? [], percents };
}

const UNKNOWN_END = {
  known: undefined,
  unknown: 'the BMC has accepted the erasure and names no task for it; whether it was erased is not known',
} as const;

/** A task that the BMC forgot proves nothing: only one that ended well does. */
function problemOf({ state, words }: BmcTaskState): string | undefined {
  if (state === 'done') return undefined;
  return state === 'gone' ? `${words}; whether it was erased is not known` : words;
}

/** All or none: a machine with one drive that is not erased is not erased. */
function checkErasable(drives: readonly ErasableDrive[]): void {
  const without = drives.filter(({ method }) => method === null);
  if (without.length === 0) return;
  const named = without.map(({ name, serial }) => `${name} (serial ${serial || '-'})`).join(', ');
  throw new StepFailure({
    class: 'permanent',
    code: 'REDFISH_NOT_OFFERED',
    message: `the BMC can not erase ${named}; nothing was erased: use the installer (ingot erase)`,
  });
}

function failureIn(drives: readonly DriveMemo[]): Failure | null {
  const failed = drives.filter(({ problem }) => problem !== undefined);
  if (failed.length === 0) return null;
  const named = failed
    .map(({ name, serial, problem }) => `${name} (serial ${serial || '-'}): ${problem}`)
    .join('; ');
  return failureOf(
    'needs_human',
    'ERASE_FAILED',
    `the BMC did not erase ${named}; ${failed.length === drives.length ? 'no drive is' : 'all other drives are'} erased`,
  );
}

function erasureOf(context: StepContext, drives: readonly DriveMemo[]): Erasure {
  const disks = drives.map(({ name, model, serial, size_bytes, method, startedAt, endedAt }) => ({
    name,
    model,
    serial,
    size_bytes,
    method: method ?? 'none',
    result: 'erased' as const,
    verified: 'nothing was read back: the BMC reports it complete',
    not_done: '',
    seconds: Math.round((Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '')) / 1000),
    at: endedAt ?? '',
  }));
  const ends = disks.map(({ at }) => at).toSorted();
  const erasure = { disks, skipped: [] };
  return {
    ...erasure,
    outcome: eraseOutcome(erasure),
    at: ends.at(-1) ?? '',
    operation_id: context.operationId,
  };
}

function erased(erasure: Erasure): Observation<MachineChange> {
  const message = erasureText(erasure);
  return {
    seen: 'done',
    message,
    change: {
      conditions: [
        { type: 'Provisioned', status: false, reason: 'Erased', message },
        { type: 'InCustomerCluster', status: false, reason: 'Erased', message },
      ],
    },
  };
}
