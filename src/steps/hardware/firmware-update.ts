/**
 * An update of firmware. That it is sent is remembered before, and its task right after, so that no replica sends it while one may be under
 * way. An update that has started is never broken off: a cancel waits for its end. Where nothing shows what became of it, the step stops for
 * an operator and says so.
 */
import { z } from 'zod';
import { type Failure, failureOf } from '../../domain/error/failure.ts';
import type { FirmwareRequest, FirmwareState } from '../../domain/hardware/hardware-change.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import {
  type ActResult,
  type Observation,
  type StepContext,
  type StepHandler,
  wasNotCarriedOut,
} from '../../engine/step-handler.ts';
import { CAME_BACK } from '../power/reboot-by-switching.ts';
import { callOf, type StepEnvironment, type StepKind, undoCallOf } from '../step-kind.ts';
import { resetWithin } from './reset-within.ts';

const SHA256 = /^[0-9a-f]{64}$/;
const MAX_URL = 1000;

const config = z.object({
  component: z.string().min(1, 'must not be empty').max(200, 'must be at most 200 characters'),
  version: z.string().min(1, 'must not be empty').max(200, 'must be at most 200 characters'),
  image_url: z
    .string()
    .max(MAX_URL, `must be at most ${MAX_URL} characters`)
    .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an http or https address')
    .refine(
      (text) => !URL.canParse(text) || (new URL(text).username === '' && new URL(text).password === ''),
      'must have no user and no password in it',
    ),
  sha256: z
    .string()
    .regex(SHA256, 'must be the SHA-256 of the image: 64 digits and lower-case letters a to f'),
  reset: z.enum(['if_needed', 'never']).default('if_needed'),
});
type Config = z.output<typeof config>;

export const firmwareUpdate: StepKind<Config, 'firmware' | 'power'> = {
  kind: 'firmware-update',
  needs: () => ['firmware', 'power'],
  config: config as z.ZodType<Config>,
  title: 'Updating firmware',
  doneTitle: 'Firmware updated',
  canUndo: true,
  handler: (request, environment) => updateHandler(request, environment),
};

/** How long the new version may take to show, before the machine is reset for it: a BMC that was updated starts again by itself. */
const SHOWN_WITHIN_MS = 2 * 60_000;
/** The same where no task shows whether it is still written: a machine is not reset in the middle of that. */
const WRITTEN_WITHIN_MS = 10 * 60_000;
const SHOWN_AFTER_RESET_MS = 20 * 60_000;
const POLL_AFTER_MS = 5_000;

const STARTED = { result: 'started', reason: 'the update is under way', pollAfterMs: 1 } as const;

interface UpdateMemo {
  /** It is about to be sent, or was. */
  readonly sent?: true;
  /** Null: the BMC has no task for it. */
  readonly task?: string | null;
  /** When the task was seen to be over. */
  readonly endedAt?: number;
  readonly resetSeenAt?: number;
}

type Environment = StepEnvironment<'firmware' | 'power'>;

function updateHandler(request: Config, environment: Environment): StepHandler<MachineChange> {
  const { machine, capabilities } = environment;
  const { firmware } = capabilities;
  const reset = resetWithin(environment);
  return {
    async observe(context) {
      if (reset.isStarted(context)) {
        const seen = await reset.observe(context);
        if (seen.seen !== 'done') return seen;
      }
      const call = callOf(context, machine);
      const memo = await recalledTask(context, environment);
      const progress = typeof memo.task === 'string' ? await firmware.taskState(call, memo.task) : null;
      if (progress?.state === 'running')
        return underWay(
          `updating ${request.component}: ${progress.words}`,
          progress.pollAfterMs,
          progress.percent,
        );
      const found = await firmware.compare(call, request);
      if (found.state === 'as_wanted')
        return {
          seen: 'done',
          message: found.message,
          ...(reset.isStarted(context) && { change: CAME_BACK }),
        };
      if (found.state === 'updating')
        return underWay(`updating ${request.component}`, found.pollAfterMs, null);
      if (progress?.state === 'failed')
        return { seen: 'failed', failure: updateFailed(request, found, progress.words) };
      if (memo.sent === undefined) return { seen: 'absent' };
      if (memo.task === undefined) return notSent(context, environment, request);
      const waits = progress?.state === 'waits_for_reset';
      return afterUpdate(context, request, found, { waits, isReset: reset.isStarted(context) });
    },
    async act(context) {
      const memo = context.memo as UpdateMemo;
      const call = callOf(context, machine);
      if (memo.sent && memo.task !== undefined) {
        const progress = memo.task === null ? null : await firmware.taskState(call, memo.task);
        return progress?.state === 'running' ? STARTED : reset.act(context);
      }
      await context.save({ sent: true });
      try {
        const { task } = await context.effect(() => firmware.update(call, request));
        await context.save({ sent: true, task });
      } catch (error) {
        if (wasNotCarriedOut(error)) await context.save({});
        throw error;
      }
      return STARTED;
    },
    async undo(context) {
      if (reset.isStarted(context)) {
        const undone = await reset.undo(context);
        if (undone.result !== 'done') return undone;
      }
      return undoUpdate(context, environment, request);
    },
  };
}

/**
 * After a crash between the sending and its record, and where the answer named no task, the update that the BMC works on is taken for ours,
 * because it takes one at a time.
 */
async function recalledTask(
  context: StepContext,
  { machine, capabilities }: Environment,
): Promise<UpdateMemo> {
  const memo = context.memo as UpdateMemo;
  if (memo.sent === undefined || typeof memo.task === 'string') return memo;
  const running = await capabilities.firmware.findUpdate(callOf(context, machine));
  if (running === null || running.task === null) return memo;
  const found = { ...memo, task: running.task };
  await context.save(found);
  return found;
}

/** It was to be sent, the BMC works on no update, and the version is the old one. */
async function notSent(
  context: StepContext,
  { machine, capabilities }: Environment,
  { component }: FirmwareRequest,
): Promise<Observation<MachineChange>> {
  const running = await capabilities.firmware.findUpdate(callOf(context, machine));
  // To send it again does no harm where none is under way.
  if (running !== null) return { seen: 'absent' };
  const message = `an update of ${component} may have been sent, and the BMC does not say what became of it: see on its own pages whether one is under way, and switch nothing off meanwhile`;
  return {
    seen: 'unobservable',
    failure: { class: 'effect_unknown', code: 'FIRMWARE_UPDATE_UNKNOWN', message },
  };
}

async function afterUpdate(
  context: StepContext,
  request: Config,
  found: FirmwareState,
  { waits, isReset }: { readonly waits: boolean; readonly isReset: boolean },
): Promise<Observation<MachineChange>> {
  const now = context.now().getTime();
  const memo = context.memo as UpdateMemo;
  const since = isReset ? memo.resetSeenAt : memo.endedAt;
  if (since === undefined)
    await context.save({ ...context.memo, [isReset ? 'resetSeenAt' : 'endedAt']: now });
  const sinceMs = now - (since ?? now);
  if (isReset || request.reset === 'never') {
    const limitMs = isReset ? SHOWN_AFTER_RESET_MS : memo.task === null ? WRITTEN_WITHIN_MS : SHOWN_WITHIN_MS;
    if (sinceMs < limitMs)
      return underWay(`waiting for ${request.component} to show ${request.version}`, POLL_AFTER_MS, null);
    const words = isReset
      ? 'the machine was reset'
      : waits
        ? 'it waits for a reset, and the step may not reset'
        : 'it is complete';
    return { seen: 'failed', failure: updateFailed(request, found, words) };
  }
  if (!waits && sinceMs < (memo.task === null ? WRITTEN_WITHIN_MS : SHOWN_WITHIN_MS))
    return underWay(`waiting for ${request.component} to show ${request.version}`, POLL_AFTER_MS, null);
  return { seen: 'absent', next: true };
}

async function undoUpdate(
  context: StepContext,
  { machine, capabilities: { firmware } }: Environment,
  request: Config,
): Promise<ActResult<MachineChange>> {
  const { sent, task } = context.memo as UpdateMemo;
  if (sent === undefined) return { result: 'done', message: 'nothing was updated' };
  const call = undoCallOf(context, machine);
  const known = task === undefined ? await firmware.findUpdate(call) : { task };
  const progress = typeof known?.task === 'string' ? await firmware.taskState(call, known.task) : null;
  const found = await firmware.compare(call, request);
  if (progress?.state === 'running' || found.state === 'updating') {
    const pollAfterMs = progress?.pollAfterMs ?? POLL_AFTER_MS;
    return { result: 'started', reason: 'an update that has started is not broken off', pollAfterMs };
  }
  if (found.state === 'as_wanted')
    return { result: 'done', message: `the update is complete: ${found.message}` };
  if (known !== null) {
    const waits = progress?.state === 'waits_for_reset' ? '; it goes on with the next reset' : '';
    return { result: 'done', message: `${request.component} has ${versionOf(found)}${waits}` };
  }
  const message = `an update of ${request.component} was sent, the BMC does not say what became of it, and ${request.component} has ${versionOf(found)}`;
  return { result: 'failed', failure: failureOf('effect_unknown', 'FIRMWARE_UPDATE_UNKNOWN', message) };
}

function updateFailed(request: Config, found: FirmwareState, words: string): Failure {
  const message = `the update of ${request.component} to ${request.version} did not succeed (${words}); it has ${versionOf(found)}`;
  return { class: 'needs_human', code: 'FIRMWARE_UPDATE_FAILED', message };
}

function versionOf(found: FirmwareState): string {
  return found.state === 'differs' ? `version ${found.found}` : 'an unknown version';
}

function underWay(reason: string, pollAfterMs: number, percent: number | null): Observation<MachineChange> {
  return { seen: 'under_way', reason, pollAfterMs, ...(percent !== null && { progress: percent }) };
}
