/** The erasure that a release may bring, from the mark on that was taken before the first release of this operation. */
import type { StepContext } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { ErasureMark, ErasureProgress, ErasureReport } from '../../providers/upstream.ts';
import { createdIn, rememberCreated } from '../stages/stage-memo.ts';
import { type UpstreamEnvironment, upstreamIdOf } from './upstream-environment.ts';

function markOf(context: StepContext): ErasureMark | null {
  const { released } = createdIn(context);
  return typeof released === 'object' && released !== null ? (released as ErasureMark) : null;
}

/** Once, before the first release: what the upstream erases after it belongs to this operation. */
export async function markRelease(
  environment: UpstreamEnvironment,
  context: StepContext,
  call: ProviderCall,
): Promise<void> {
  if (markOf(context)) return;
  const mark = await environment.capabilities.upstream.markErasure(call, upstreamIdOf(environment));
  await rememberCreated(context, 'released', mark);
}

export function erasureProgress(
  environment: UpstreamEnvironment,
  context: StepContext,
  call: ProviderCall,
): Promise<ErasureProgress> {
  return environment.capabilities.upstream.erasureProgress(call, upstreamIdOf(environment), markOf(context));
}

export function erasureReport(
  environment: UpstreamEnvironment,
  context: StepContext,
  { call, wanted }: { readonly call: ProviderCall; readonly wanted: 'erase' | 'keep' },
): Promise<ErasureReport> {
  const { upstream } = environment.capabilities;
  return upstream.erasureReport(call, upstreamIdOf(environment), { mark: markOf(context), wanted });
}
