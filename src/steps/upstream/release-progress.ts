/** A machine that the upstream is releasing or erasing: waited for, and unblocked where the upstream would wait forever. */
import type { StepContext } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { UpstreamMachine } from '../../providers/upstream.ts';
import { countOf } from '../stages/stage-memo.ts';
import { ABSENT, type Acted, type Seen, started } from '../stages/stage-result.ts';
import { erasureProgress } from './release-erasure.ts';
import { type UpstreamEnvironment, waitForUpstream } from './upstream-environment.ts';

export function isLeaving({ state }: UpstreamMachine): boolean {
  return state === 'erasing' || state === 'releasing';
}

/** An upstream may wait forever for a machine that it erased and could not switch off. */
export async function observeRelease(
  environment: UpstreamEnvironment,
  context: StepContext,
  { call, seen }: { call: ProviderCall; seen: UpstreamMachine },
): Promise<Seen> {
  const { upstream } = environment.capabilities;
  const { isErased, powerOffFailed } = await erasureProgress(environment, context, call);
  if (!isErased) {
    // Another erasure than the one before: it has its own time to be off.
    if (countOf(context, 'erasedAt') > 0) await context.save({ ...context.memo, erasedAt: 0 });
    return waitForUpstream(environment, context, seen);
  }
  const since = countOf(context, 'erasedAt');
  const now = context.now().getTime();
  if (since === 0) await context.save({ ...context.memo, erasedAt: now });
  const isLate = since > 0 && now - since >= upstream.site.waits.powerOffSeconds * 1000;
  if (!powerOffFailed && !isLate) return waitForUpstream(environment, context, seen, 'the disks are erased');
  await upstream.checkOwnership(call, seen);
  if (context.memo.hung === seen.status) return ABSENT;
  await context.save({ ...context.memo, hung: seen.status });
  return { seen: 'absent', next: true };
}

export async function unblockRelease(
  { capabilities: { upstream } }: UpstreamEnvironment,
  context: StepContext,
  { call, seen }: { call: ProviderCall; seen: UpstreamMachine },
): Promise<Acted> {
  const message = await context.effect(() => upstream.unblockRelease(call, seen));
  // Another release follows, which may erase again: it has its own time to be off.
  if (seen.state === 'erasing') await context.save({ ...context.memo, erasedAt: 0 });
  return started(message);
}
