/**
 * What a record in MAAS lacks of what the site and the machine's labels want. A machine that MAAS found by itself has no
 * power type, and MAAS neither commissions nor switches it before it has one.
 *
 * Only a machine that is not in use is changed. Power is given where MAAS has none, or where it says that people switch it
 * and the site knows better; a power type that somebody has set, or that MAAS has found, stays.
 */
import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasChanges, MaasMachine, MaasStatus } from '../../providers/maas/maas-control.ts';
import { type Acted, countOne, started } from '../stages/stage-handling.ts';
import { callOf } from '../step-kind.ts';
import type { MaasStepEnvironment } from './upstream-environment.ts';

const UNUSED: readonly MaasStatus[] = ['New', 'Ready', 'Failed commissioning', 'Failed testing', 'Broken'];

export interface Lacking {
  readonly changes: MaasChanges;
  readonly tags: readonly string[];
  /** For people; no secret is in them. */
  readonly words: readonly string[];
}

/** Null: it lacks nothing, or may not be changed now. */
export function lackingOf(
  { machine, capabilities }: MaasStepEnvironment,
  found: MaasMachine,
): Lacking | null {
  if (!UNUSED.includes(found.status) || found.locked) return null;
  const { place, kernel } = capabilities.maas.site.optionsFor(machine);
  const power = capabilities.maas.site.resolvePower(machine);
  const needsPower = found.powerType === '' || (found.powerType === 'manual' && power.powerType !== 'manual');
  const other = (wanted: string | null, has: string) => (wanted === null || wanted === has ? null : wanted);
  const moved = {
    pool: other(place.pool, found.pool),
    zone: other(place.zone, found.zone),
    domain: other(place.domain, found.domain),
  };
  const minHweKernel = other(kernel.minimum, found.minHweKernel);
  const tags = place.tags.filter((tag) => !found.tags.includes(tag));
  const words = [
    ...(needsPower ? [`power ${power.powerType}`] : []),
    ...Object.entries(moved).flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`])),
    ...(minHweKernel === null ? [] : [`kernel at least ${minHweKernel}`]),
    ...tags.map((tag) => `tag ${tag}`),
  ];
  if (words.length === 0) return null;
  return { changes: { ...(needsPower && { power }), place: moved, minHweKernel }, tags, words };
}

export async function give(
  { machine, capabilities }: MaasStepEnvironment,
  context: StepContext,
  { systemId }: MaasMachine,
  { changes, tags, words }: Lacking,
): Promise<Acted> {
  const call = callOf(context, machine);
  context.log(`Setting in MAAS (${systemId}): ${words.join(', ')}`);
  if (words.length > tags.length)
    await context.effect(() => capabilities.maas.change(call, systemId, changes));
  for (const tag of tags) await context.effect(() => capabilities.maas.tag(call, systemId, tag));
  await countOne(context, 'given');
  return started(`waiting for MAAS to have ${words.join(', ')}`);
}
