/**
 * Takes discs out of virtual drives that operations left there: one that failed, one whose BMC did not answer when it was to be ejected, or one
 * whose machine never booted. A machine with an active operation is not touched: that operation takes care of its drive. Each is tried again
 * until it was seen to be out, or for a day.
 */
import type { Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';
import type { Provider, ProviderCall } from '../providers/provider.ts';
import type { Database } from '../store/database/database.ts';
import { findMachine } from '../store/machines/machines.ts';
import { claimLeftMedia, forgetInsertedMedia, type LeftMedia } from '../store/nodes/inserted-media.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';

export interface StuckMedia extends LeftMedia {
  readonly problem: string;
  /** It is not tried again. */
  readonly isLast: boolean;
}

export interface MediaSweepOptions {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly watch: LoopWatch;
  readonly onLeft: (left: StuckMedia) => void;
}

const EVERY_MS = 2_000;
const RETRY_SECONDS = 300;
const MAX_TRIES = (24 * 3600) / RETRY_SECONDS;
const BATCH = 20;

export function mediaSweep(options: MediaSweepOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'ejecting left media',
    everyMs: EVERY_MS,
    pass: (signal) => ejectAll(options, signal),
    watch: options.watch,
  });
}

async function ejectAll(options: MediaSweepOptions, signal: AbortSignal): Promise<PassResult> {
  const left = await claimLeftMedia(options.database, { everySeconds: RETRY_SECONDS, limit: BATCH });
  await Promise.all(left.map((media) => eject(options, media, signal)));
  return left.length === 0 ? 'idle' : 'passed';
}

async function eject(
  { database, providers, onLeft }: MediaSweepOptions,
  media: LeftMedia,
  signal: AbortSignal,
): Promise<void> {
  const machine = await findMachine(database, media.machineId);
  const ejectLeft = machine && providers.get(machine.spec.provider)?.capabilities.media?.ejectLeft;
  const problem =
    machine && ejectLeft
      ? await problemOf(ejectLeft(callFor(media, machine, signal)))
      : 'its provider has no virtual drives';
  if (problem === null) await forgetInsertedMedia(database, media.machineId);
  else {
    const isLast = media.tries >= MAX_TRIES;
    if (isLast) await forgetInsertedMedia(database, media.machineId);
    onLeft({ ...media, problem, isLast });
  }
}

/** Of no operation: the claim of its row is what keeps other replicas away. */
function callFor({ operationId }: LeftMedia, machine: Machine, signal: AbortSignal): ProviderCall {
  const step = 'eject-left-media';
  return {
    machine,
    key: `${operationId}/${step}`,
    step,
    fence: 0,
    checkHeld: () => {},
    signal,
    log: () => {},
  };
}

/** Null: it is out. */
async function problemOf(ejected: Promise<void>): Promise<string | null> {
  try {
    await ejected;
    return null;
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return error.failure.message;
  }
}
