/**
 * Volumes of the machine's storage controllers as wanted, one change at a time. It destroys what is on the drives: only in maintenance, and
 * existing volumes only where the plan says so. What was changed is read back before the next change.
 */
import { z } from 'zod';
import { Fault } from '../../domain/error/fault.ts';
import {
  RAID_LEVELS,
  type RaidLevel,
  type RaidRequest,
  type RaidState,
  volumeChangeText,
} from '../../domain/hardware/hardware-change.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import {
  type Observation,
  type StepContext,
  StepFailure,
  type StepHandler,
} from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, type StepKind, undoCallOf } from '../step-kind.ts';
import { resetWithin } from './reset-within.ts';

const LEVELS = Object.keys(RAID_LEVELS) as [RaidLevel, ...RaidLevel[]];
const MAX_VOLUMES = 64;
const name = (most: number) =>
  z.string().min(1, 'must not be empty').max(most, `must be at most ${most} characters`);

const volume = z
  .object({
    name: name(64),
    level: z.enum(LEVELS, `must be one of ${LEVELS.join(', ')}`),
    drives: z.array(name(200)).min(1, 'must name at least one drive').max(256, 'must be at most 256'),
    capacity_bytes: z.coerce.number('must be a number').int().min(0, 'must not be negative').default(0),
  })
  .superRefine(({ level, drives }, issues) => {
    const add = (message: string) => issues.addIssue({ code: 'custom', path: ['drives'], message });
    if (drives.length < RAID_LEVELS[level]) add(`${level} needs at least ${RAID_LEVELS[level]} drives`);
    if (level === 'RAID10' && drives.length % 2 === 1) add('RAID10 needs an even number of drives');
    if (new Set(drives).size < drives.length) add('must name each drive once');
  });

const config = z
  .object({
    controller: z.string().max(200, 'must be at most 200 characters').default(''),
    volumes: z.array(volume).max(MAX_VOLUMES, `must be at most ${MAX_VOLUMES}`).default([]),
    destroy_existing: z.boolean().default(false),
  })
  .superRefine(({ volumes, destroy_existing: destroys }, issues) => {
    const add = (path: string, message: string) => issues.addIssue({ code: 'custom', path: [path], message });
    if (volumes.length === 0 && !destroys)
      add('volumes', 'must name a volume, unless destroy_existing is true');
    const names = volumes.map((each) => each.name);
    if (new Set(names).size < names.length) add('volumes', 'must have different names');
  });
type Config = z.output<typeof config>;

export const raid: StepKind<Config, 'volumes' | 'power'> = {
  kind: 'raid',
  needs: () => ['volumes', 'power'],
  config: config as z.ZodType<Config>,
  title: 'Changing volumes',
  doneTitle: 'Volumes as wanted',
  complete: (request, machine) => {
    checkMaintenance(machine, 'raid');
    return request;
  },
  canUndo: true,
  handler: (request, environment) => raidHandler(request, environment),
};

/** At the start; what destroys data is refused before anything is written. */
export function checkMaintenance({ machineId, phase }: Machine, kind: string): void {
  if (phase === 'MAINTENANCE') return;
  throw new Fault('WRONG_PHASE', {
    message: `${machineId} is ${phase}; a step ${kind} destroys data and needs MAINTENANCE`,
    metadata: { machine_id: machineId, phase, type: kind, phases: 'MAINTENANCE' },
    violations: [{ subject: `machines/${machineId}`, description: `is ${phase}` }],
  });
}

/** Right before the effect: the phase may have changed since the start. */
export function requireMaintenance({ machineId, phase }: Machine): void {
  if (phase === 'MAINTENANCE') return;
  throw new StepFailure({
    class: 'permanent',
    code: 'NOT_IN_MAINTENANCE',
    message: `${machineId} is ${phase} and no longer in MAINTENANCE: nothing more is destroyed`,
  });
}

/** How long a change may take to show before it is repeated. */
const SHOWN_WITHIN_MS = 60_000;
const POLL_AFTER_MS = 5_000;

interface RaidMemo {
  readonly change?: string;
  readonly changedAt?: number;
  readonly task?: string | null;
}

type Environment = StepEnvironment<'volumes' | 'power'>;

function raidHandler(request: RaidRequest, environment: Environment): StepHandler<MachineChange> {
  const { machine, capabilities } = environment;
  const { volumes } = capabilities;
  const reset = resetWithin(environment);
  return {
    async observe(context) {
      if (reset.isStarted(context)) {
        const seen = await reset.observe(context);
        if (seen.seen !== 'done') return seen;
      }
      const { task, change = '' } = context.memo as RaidMemo;
      const call = callOf(context, machine);
      const progress = typeof task === 'string' ? await volumes.taskState(call, task) : null;
      if (progress?.state === 'running') return underWay(progress.words, progress.pollAfterMs);
      if (progress?.state === 'failed') return changeFailed(change, progress.words);
      const isWaiting = progress?.state === 'waits_for_reset' && !reset.isStarted(context);
      return isWaiting
        ? { seen: 'absent', next: true }
        : verdict(context, await volumes.compare(call, request));
    },
    async act(context) {
      const call = callOf(context, machine);
      const found = await volumes.compare(call, request);
      const { task } = context.memo as RaidMemo;
      const progress = typeof task === 'string' ? await volumes.taskState(call, task) : null;
      if (found.state === 'waits_for_reset' || progress?.state === 'waits_for_reset')
        return reset.act(context);
      if (found.state !== 'differs')
        return { result: 'started', reason: 'the volumes are being changed', pollAfterMs: POLL_AFTER_MS };
      requireMaintenance(machine);
      const change = volumeChangeText(found.next);
      const changedAt = context.now().getTime();
      const started = await context.effect(() => volumes.change(call, request, found.next));
      await context.save({ change, changedAt, task: started.task });
      return { result: 'started', reason: change, pollAfterMs: 1 };
    },
    async undo(context) {
      if (reset.isStarted(context)) {
        const undone = await reset.undo(context);
        if (undone.result !== 'done') return undone;
      }
      const { change, task } = context.memo as RaidMemo;
      const call = undoCallOf(context, machine);
      const progress = typeof task === 'string' ? await volumes.taskState(call, task) : null;
      const found = await volumes.compare(call, request);
      if (progress?.state === 'running' || found.state === 'changing')
        return {
          result: 'started',
          reason: 'a change that has started is not broken off',
          pollAfterMs: POLL_AFTER_MS,
        };
      const message =
        change === undefined
          ? 'no volume was changed'
          : `what was changed stays so; the last change was to ${change}`;
      return { result: 'done', message };
    },
  };
}

function verdict(context: StepContext, found: RaidState): Observation<MachineChange> {
  switch (found.state) {
    case 'as_wanted':
      return { seen: 'done', message: found.message };
    case 'changing':
      return underWay(found.words, found.pollAfterMs);
    case 'waits_for_reset':
      return { seen: 'absent', next: true };
    case 'differs': {
      const { change, changedAt = 0 } = context.memo as RaidMemo;
      const isRepeated = change === volumeChangeText(found.next);
      const sinceMs = context.now().getTime() - changedAt;
      if (isRepeated && sinceMs < SHOWN_WITHIN_MS) return underWay(`waiting to ${change}`, POLL_AFTER_MS);
      return { seen: 'absent', next: true };
    }
  }
}

function changeFailed(change: string, words: string): Observation<MachineChange> {
  const message = `the BMC could not ${change}: ${words}; the changes before it are done`;
  return { seen: 'failed', failure: { class: 'needs_human', code: 'VOLUME_CHANGE_FAILED', message } };
}

function underWay(reason: string, pollAfterMs: number): Observation<MachineChange> {
  return { seen: 'under_way', reason, pollAfterMs };
}
