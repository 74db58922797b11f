/** A machine that MAAS is releasing or erasing: waited for, and helped where MAAS itself would wait for ever. */
import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import { ABSENT, type Acted, countOf, type Seen, started } from '../stages/stage-handling.ts';
import { sightErasing } from './release-erasure.ts';
import { type MaasStepEnvironment, underWayIn } from './upstream-environment.ts';

const LEAVING: readonly string[] = ['Disk erasing', 'Releasing'];

export function isLeaving({ status }: MaasMachine): boolean {
  return LEAVING.includes(status);
}

/** MAAS waits for ever for a machine that it erased and could not switch off. */
export async function whileLeaving(
  environment: MaasStepEnvironment,
  context: StepContext,
  { call, seen }: { call: ProviderCall; seen: MaasMachine },
): Promise<Seen> {
  const { isErased, powerOffFailed } = await sightErasing(environment, context, call);
  if (!isErased) {
    // Another erasing than the one before: it has its own time to be off.
    if (countOf(context, 'erasedAt') > 0) await context.save({ ...context.memo, erasedAt: 0 });
    return underWayIn(context, seen);
  }
  const since = countOf(context, 'erasedAt');
  const now = context.now().getTime();
  if (since === 0) await context.save({ ...context.memo, erasedAt: now });
  const isLate = since > 0 && now - since >= environment.capabilities.maas.site.waits.powerOffSeconds * 1000;
  if (!powerOffFailed && !isLate) return underWayIn(context, seen, 'the disks are erased');
  await environment.capabilities.maas.checkOurs(call, seen);
  if (context.memo.hung === seen.status) return ABSENT;
  await context.save({ ...context.memo, hung: seen.status });
  return { seen: 'absent', next: true };
}

/** An erasing can be aborted, and the machine released then. A release can't; it goes on as soon as the power is off. */
export async function endHung(
  { capabilities }: MaasStepEnvironment,
  context: StepContext,
  { call, seen }: { call: ProviderCall; seen: MaasMachine },
): Promise<Acted> {
  context.log(`MAAS erased the disks, but the machine is not off, and it stays ${seen.status}`);
  if (seen.status === 'Releasing') {
    await context.effect(() => capabilities.maas.powerOff(call, seen.systemId));
    return started('switching the machine off, which MAAS waits for');
  }
  await context.effect(() => capabilities.maas.abort(call, seen.systemId, 'erased already'));
  return started('MAAS gives the erasing up, which was done');
}
