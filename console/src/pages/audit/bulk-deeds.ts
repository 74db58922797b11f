/** What one person did to many machines at the same time is one line: "registered 300 machines". */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { countText } from '../../count-text.ts';
import { type Deed, sentence } from './sentence.ts';

/** Two deeds with no longer pause between them belong together. */
const PAUSE_MS = 60_000;
/** Fewer are read faster one by one. */
const FEWEST = 3;

/** Deeds, newest first; each is in one bulk, at the place of its newest. */
export function bulks(deeds: readonly Deed[]): Deed[][] {
  const open = new Map<string, Deed[]>();
  const all: Deed[][] = [];
  for (const deed of deeds) {
    const act = actOf(deed.lead);
    const bulk = act === null ? undefined : open.get(act);
    const later = bulk?.at(-1);
    if (bulk && later && timeOf(later) - timeOf(deed) <= PAUSE_MS) {
      bulk.push(deed);
      continue;
    }
    const next = [deed];
    if (act !== null) open.set(act, next);
    all.push(next);
  }
  return all
    .flatMap((bulk) => (bulk.length < FEWEST ? bulk.map((deed) => [deed]) : [bulk]))
    .toSorted(([one], [other]) => (one && other ? timeOf(other) - timeOf(one) : 0));
}

/** All that the sentence says but the machine; null where it is not about one. */
function actOf({ kind, subject, machineId, from, to, actorId, comment }: Event): string | null {
  if (machineId === '') return null;
  return JSON.stringify([kind, subject === machineId ? '' : subject, from, to, actorId, comment]);
}

function timeOf({ lead }: Deed): number {
  return lead.at ? timestampMs(lead.at) : 0;
}

export function bulkSentence(deeds: readonly Deed[], lead: Event): string {
  const machines = countText(new Set(deeds.map((deed) => deed.lead.machineId)).size);
  const { subject, machineId } = lead;
  return sentence({ ...lead, machineId: machines, subject: subject === machineId ? machines : subject });
}
