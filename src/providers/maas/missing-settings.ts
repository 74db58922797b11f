/**
 * What a record in MAAS lacks of what the site and the machine's labels want. A machine that MAAS discovered by itself has
 * no power type, and MAAS neither commissions nor switches it before it has one.
 *
 * Only a machine that is not in use is changed. Power is set where MAAS has none, or where MAAS has "manual" and the site
 * has something better; a power type that a user has set, or that MAAS has detected, stays.
 */
import type { ProviderCall } from '../provider.ts';
import type { MissingSettings } from '../upstream.ts';
import type { MaasChanges, MaasControl, MaasMachine, MaasStatus } from './client/maas-control.ts';

const UNUSED: readonly MaasStatus[] = ['New', 'Ready', 'Failed commissioning', 'Failed testing', 'Broken'];

interface Missing extends MissingSettings {
  readonly changes: MaasChanges;
  readonly tags: readonly string[];
}

/** Null: it lacks nothing, or may not be changed now. */
export async function missingSettings(
  { site }: Pick<MaasControl, 'site'>,
  { machine, signal }: Pick<ProviderCall, 'machine' | 'signal'>,
  found: MaasMachine,
): Promise<Missing | null> {
  if (!UNUSED.includes(found.status) || found.locked) return null;
  const { place, kernel } = site.optionsFor(machine);
  const power = await site.resolvePower(machine, signal);
  const needsPower = found.powerType === '' || (found.powerType === 'manual' && power.powerType !== 'manual');
  const unlessSame = (wanted: string | null, has: string) => (wanted === has ? null : wanted);
  const moved = {
    pool: unlessSame(place.pool, found.pool),
    zone: unlessSame(place.zone, found.zone),
    domain: unlessSame(place.domain, found.domain),
  };
  const minHweKernel = unlessSame(kernel.minimum, found.minHweKernel);
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

export async function applySettings(
  maas: MaasControl,
  call: ProviderCall,
  found: MaasMachine,
): Promise<void> {
  const missing = await missingSettings(maas, call, found);
  if (!missing) return;
  const { changes, tags, words } = missing;
  call.log(`Setting in MAAS (${found.systemId}): ${words.join(', ')}`);
  if (words.length > tags.length) await maas.change(call, found.systemId, changes);
  for (const tag of tags) await maas.tag(call, found.systemId, tag);
}
