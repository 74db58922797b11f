/**
 * What MAAS did about the disks. What was asked for is not always what is done: a site may have disks erased at every
 * release, in its own way, and an erasure that a user stopped leaves a machine that looks released. So MAAS' own events are
 * the evidence, from the one on that was the newest when the release was requested.
 */
import type { ErasureMark, ErasureProgress, ErasureReport, UpstreamReadCall } from '../upstream.ts';
import type { MaasControl, MaasEvent, MaasWipe } from './client/maas-control.ts';

/** The types of MAAS' events. */
const ERASED: readonly string[] = ['Disks erased', 'Release scripts executed successfully.'];
const ERASING_STARTED = 'User erasing disk';
const POWER_OFF_FAILED = 'Failed to power off node';
const MAX_EVENTS = 1000;

type Reads = Pick<MaasControl, 'events' | 'lastWipe' | 'erasesAlways'>;

/** `event`: the newest event before the release. `run`: the last run of a script that erases, before it. */
export async function markErasure(maas: Reads, call: UpstreamReadCall, systemId: string) {
  const [newest] = await maas.events(call, systemId, 1);
  const wipe = await maas.lastWipe(call, systemId);
  return { event: newest?.id ?? 0, run: wipe?.runId ?? 0 };
}

export async function erasureProgress(
  maas: Reads,
  call: UpstreamReadCall,
  { systemId, mark }: { readonly systemId: string; readonly mark: ErasureMark | null },
): Promise<ErasureProgress> {
  return erasureIn(await maas.events(call, systemId, MAX_EVENTS), mark?.event ?? 0);
}

/** Newest first. */
export function erasureIn(events: readonly MaasEvent[], since: number): ErasureProgress {
  let powerOffFailed = false;
  for (const { id, type } of events) {
    if (id <= since || type === ERASING_STARTED) break;
    if (type === POWER_OFF_FAILED) powerOffFailed = true;
    if (ERASED.includes(type)) return { isErased: true, powerOffFailed };
  }
  return { isErased: false, powerOffFailed };
}

interface Asked {
  readonly systemId: string;
  readonly mark: ErasureMark | null;
  readonly wanted: 'erase' | 'keep';
}

export async function erasureReport(
  maas: Reads,
  call: UpstreamReadCall,
  { systemId, mark, wanted }: Asked,
): Promise<ErasureReport> {
  if (!mark) {
    const text = 'MAAS had released it before: whether its disks were erased then, it does not say';
    return { text, isMissing: wanted === 'erase' };
  }
  const { isErased } = await erasureProgress(maas, call, { systemId, mark });
  const wipe = await maas.lastWipe(call, systemId);
  const own = wipe !== null && wipe.runId > (mark.run ?? 0) ? wipe : null;
  const isForced = (await maas.erasesAlways(call)) === true;
  return reportOf({ wanted, isErased, wipe: own, isForced });
}

interface Findings {
  readonly wanted: 'erase' | 'keep';
  readonly isErased: boolean;
  readonly wipe: MaasWipe | null;
  readonly isForced: boolean;
}

export function reportOf({ wanted, isErased, wipe, isForced }: Findings): ErasureReport {
  if (!isErased) {
    const text =
      wanted === 'erase'
        ? 'MAAS released the machine, but does not say that it erased its disks'
        : 'the disks were not erased';
    return { text, isMissing: wanted === 'erase' };
  }
  const how = wipe === null ? 'it does not say how' : methodOf(wipe);
  const asked = wipe === null || (wipe.secureErase && !wipe.quickErase);
  const because = isForced
    ? `; it does so at every release, as its own settings say${wanted === 'erase' && !asked ? ', which are not what was asked for' : ''}`
    : '';
  return { text: `MAAS erased the disks (${how})${because}`, isMissing: false };
}

function methodOf({ secureErase, quickErase }: MaasWipe): string {
  const otherwise = quickErase ? 'only 2 MiB at the start and the end of each' : 'overwritten with zeros';
  return secureErase ? `securely where a disk can, otherwise ${otherwise}` : otherwise;
}
