/**
 * Settings of a machine's firmware: staged, taken over by a reset where they need one, and read back. What is as wanted already is left
 * alone. Staging may be repeated, so it is remembered afterwards; the reset is remembered before it starts.
 */
import type { BmcTaskState, SettingsState } from '../../domain/hardware/hardware-change.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Observation, StepContext, StepHandler } from '../../engine/step-handler.ts';
import type { SettingsControl } from '../../providers/hardware-changes.ts';
import { CAME_BACK } from '../power/reboot-by-switching.ts';
import { callOf, type StepEnvironment, undoCallOf } from '../step-kind.ts';
import { type ResetWithin, resetWithin } from './reset-within.ts';

/** How long a BMC may take to show what it accepted, before the machine is reset for it. */
const SHOWN_WITHIN_MS = 10_000;
/** How long the firmware may take after the reset: it may reset the machine again by itself. */
const APPLIED_WITHIN_MS = 15 * 60_000;
const POLL_AFTER_MS = 5_000;

const STARTED = {
  result: 'started',
  reason: 'waiting for the BMC to take the settings',
  pollAfterMs: 1,
} as const;

interface SettingsMemo {
  readonly stagedAt?: number;
  readonly task?: string | null;
  readonly resetSeenAt?: number;
}

export function settingsStep<Request>(
  environment: StepEnvironment<'power'>,
  control: SettingsControl<Request>,
  request: Request,
): StepHandler<MachineChange> {
  const { machine } = environment;
  const reset = resetWithin(environment);
  return {
    async observe(context) {
      if (reset.isStarted(context)) {
        const seen = await reset.observe(context);
        if (seen.seen !== 'done') return seen;
      }
      const found = await control.compare(callOf(context, machine), request);
      if (found.state === 'as_wanted')
        return {
          seen: 'done',
          message: found.message,
          ...(reset.isStarted(context) && { change: CAME_BACK }),
        };
      if (found.state === 'changing') return waiting('the BMC is changing them', found.pollAfterMs);
      return reset.isStarted(context)
        ? afterReset(context, control, found, machine)
        : beforeReset(context, control, found, machine);
    },
    async act(context) {
      if (reset.isStarted(context)) return reset.act(context);
      const call = callOf(context, machine);
      const found = await control.compare(call, request);
      const { stagedAt } = context.memo as SettingsMemo;
      if (found.state === 'as_wanted' || found.state === 'changing') return STARTED;
      if (found.state === 'staged') return reset.act(context);
      if (stagedAt !== undefined)
        return (await isDue(context, control, machine)) ? reset.act(context) : STARTED;
      const { task } = await context.effect(() => control.stage(call, request));
      await context.save({ stagedAt: context.now().getTime(), task });
      return STARTED;
    },
    undo: (context) => undoSettings(context, environment, control, request, reset),
  };
}

type Machine = StepEnvironment<'power'>['machine'];
type Unsettled = Exclude<SettingsState, { state: 'as_wanted' | 'changing' }>;

/** What was staged shows nowhere: it waits for a reset by its task, or for long enough. */
async function isDue<Request>(
  context: StepContext,
  control: SettingsControl<Request>,
  machine: Machine,
): Promise<boolean> {
  const { stagedAt = 0, task } = context.memo as SettingsMemo;
  const progress = await taskOf(context, control, machine, task);
  if (progress?.state === 'running') return false;
  return progress?.state === 'waits_for_reset' || context.now().getTime() - stagedAt >= SHOWN_WITHIN_MS;
}

async function beforeReset<Request>(
  context: StepContext,
  control: SettingsControl<Request>,
  found: Unsettled,
  machine: Machine,
): Promise<Observation<MachineChange>> {
  if (found.state === 'staged') return { seen: 'absent', next: true };
  const { stagedAt, task } = context.memo as SettingsMemo;
  if (stagedAt === undefined) return { seen: 'absent' };
  const progress = await taskOf(context, control, machine, task);
  if (progress?.state === 'failed') return failed(found, progress.words);
  if (progress?.state === 'running') return waiting(progress.words, progress.pollAfterMs);
  if (!(await isDue(context, control, machine)))
    return waiting('waiting for the BMC to show the settings', 1_000);
  return { seen: 'absent', next: true };
}

async function afterReset<Request>(
  context: StepContext,
  control: SettingsControl<Request>,
  found: Unsettled,
  machine: Machine,
): Promise<Observation<MachineChange>> {
  const memo = context.memo as SettingsMemo;
  if (memo.resetSeenAt === undefined)
    await context.save({ ...context.memo, resetSeenAt: context.now().getTime() });
  const progress = await taskOf(context, control, machine, memo.task);
  if (progress?.state === 'failed') return failed(found, progress.words);
  const sinceMs = context.now().getTime() - (memo.resetSeenAt ?? context.now().getTime());
  if (sinceMs < APPLIED_WITHIN_MS)
    return waiting('waiting for the firmware to take the settings over', POLL_AFTER_MS);
  return failed(found, 'the machine was reset, and its firmware has not taken them over');
}

async function taskOf<Request>(
  context: StepContext,
  control: SettingsControl<Request>,
  machine: Machine,
  task: string | null | undefined,
): Promise<BmcTaskState | null> {
  return typeof task === 'string' ? control.taskState(callOf(context, machine), task) : null;
}

function waiting(reason: string, pollAfterMs: number): Observation<MachineChange> {
  return { seen: 'under_way', reason, pollAfterMs };
}

function failed(found: Unsettled, words: string): Observation<MachineChange> {
  const left =
    found.state === 'staged'
      ? `still pending: ${found.message}`
      : [...found.differences, found.lastMessage].join('; ');
  const message = `the settings were not taken over (${words}); ${left.replace(/; $/, '')}`;
  return { seen: 'failed', failure: { class: 'needs_human', code: 'SETTINGS_NOT_APPLIED', message } };
}

/** A reset that has started is brought to its end. What is staged stays so, and the message says it. */
async function undoSettings<Request>(
  context: StepContext,
  { machine }: StepEnvironment<'power'>,
  control: SettingsControl<Request>,
  request: Request,
  reset: ResetWithin,
): ReturnType<StepHandler<MachineChange>['act']> {
  if (reset.isStarted(context)) {
    const undone = await reset.undo(context);
    if (undone.result !== 'done') return undone;
  }
  const found = await control.compare(undoCallOf(context, machine), request);
  if (found.state === 'changing')
    return { result: 'started', reason: 'the BMC is changing them', pollAfterMs: found.pollAfterMs };
  const message = {
    as_wanted: 'the settings are in force already, and stay so',
    staged: 'the settings stay pending: they come into force with the next reset',
    differs: 'the settings are as they were',
  }[found.state];
  return { result: 'done', message };
}
