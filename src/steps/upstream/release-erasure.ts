/**
 * What MAAS did about the disks. What was asked for is not what is done: a site may have disks erased at every release, in
 * its own way, and an erasing that somebody stopped leaves a machine that looks released. So MAAS' own events are the
 * evidence, from the one on that was the newest when the release was asked for.
 */
import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasEvent, MaasWipe } from '../../providers/maas/maas-control.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import { madeIn, rememberMaking } from '../stages/stage-handling.ts';
import { idOf, type MaasStepEnvironment } from './upstream-environment.ts';

/** The words of MAAS' events. */
const ERASED: readonly string[] = ['Disks erased', 'Release scripts executed successfully.'];
const ERASING_STARTED = 'User erasing disk';
const POWER_OFF_FAILED = 'Failed to power off node';
const MAX_EVENTS = 1000;

interface Mark {
  /** The newest event before the release. */
  readonly event: number;
  /** The last run of a script that erases, before it. */
  readonly run: number;
}

function markOf(context: StepContext): Mark | null {
  const { released } = madeIn(context);
  if (typeof released !== 'object' || released === null) return null;
  const { event, run } = released as Partial<Mark>;
  return { event: event ?? 0, run: run ?? 0 };
}

/** Once, before the first release: what comes after it is this operation's. */
export async function markRelease(
  environment: MaasStepEnvironment,
  context: StepContext,
  call: ProviderCall,
): Promise<void> {
  if (markOf(context)) return;
  const { maas } = environment.capabilities;
  const [newest] = await maas.events(call, idOf(environment), 1);
  const wipe = await maas.lastWipe(call, idOf(environment));
  await rememberMaking(context, 'released', { event: newest?.id ?? 0, run: wipe?.runId ?? 0 });
}

export interface ErasingSight {
  readonly isErased: boolean;
  /** The power off that should have followed was refused. */
  readonly powerOffFailed: boolean;
}

/** As far as MAAS says. Without a mark, of the last time that it began to erase. */
export async function sightErasing(
  environment: MaasStepEnvironment,
  context: StepContext,
  call: ProviderCall,
): Promise<ErasingSight> {
  const events = await environment.capabilities.maas.events(call, idOf(environment), MAX_EVENTS);
  return erasingIn(events, markOf(context)?.event ?? 0);
}

/** Newest first. */
export function erasingIn(events: readonly MaasEvent[], since: number): ErasingSight {
  let powerOffFailed = false;
  for (const { id, type } of events) {
    if (id <= since || type === ERASING_STARTED) break;
    if (type === POWER_OFF_FAILED) powerOffFailed = true;
    if (ERASED.includes(type)) return { isErased: true, powerOffFailed };
  }
  return { isErased: false, powerOffFailed };
}

export interface ErasingReport {
  readonly text: string;
  /** It was wanted, and nothing shows that it was done. */
  readonly isMissing: boolean;
}

export async function reportErasing(
  environment: MaasStepEnvironment,
  context: StepContext,
  { call, wanted }: { readonly call: ProviderCall; readonly wanted: 'erase' | 'keep' },
): Promise<ErasingReport> {
  const mark = markOf(context);
  if (!mark) {
    const text = 'MAAS had released it before: whether its disks were erased then, it does not say';
    return { text, isMissing: wanted === 'erase' };
  }
  const { maas } = environment.capabilities;
  const { isErased } = await sightErasing(environment, context, call);
  const wipe = await maas.lastWipe(call, idOf(environment));
  const own = wipe !== null && wipe.runId > mark.run ? wipe : null;
  const isForced = (await maas.erasesAlways(call)) === true;
  return erasingReport({ wanted, isErased, wipe: own, isForced });
}

interface Findings {
  readonly wanted: 'erase' | 'keep';
  readonly isErased: boolean;
  readonly wipe: MaasWipe | null;
  readonly isForced: boolean;
}

export function erasingReport({ wanted, isErased, wipe, isForced }: Findings): ErasingReport {
  if (!isErased) {
    const text =
      wanted === 'erase'
        ? 'MAAS released the machine, but does not say that it erased its disks'
        : 'the disks were not erased';
    return { text, isMissing: wanted === 'erase' };
  }
  const how = wipe === null ? 'it does not say how' : wordsOf(wipe);
  const asked = wipe === null || (wipe.secureErase && !wipe.quickErase);
  const because = isForced
    ? `; it does so at every release, as its own settings say${wanted === 'erase' && !asked ? ', which are not what was asked for' : ''}`
    : '';
  return { text: `MAAS erased the disks (${how})${because}`, isMissing: false };
}

function wordsOf({ secureErase, quickErase }: MaasWipe): string {
  const otherwise = quickErase ? 'only 2 MiB at the start and the end of each' : 'overwritten with zeros';
  return secureErase ? `securely where a disk can, otherwise ${otherwise}` : otherwise;
}
