/**
 * Effects that were started after another replica had claimed the operation, by the replicas' journals. All of
 * them read the same monotonic clock. An effect is a line before_effect and the next after_effect of the same
 * holder; the first one's time is when the holder went on, after any stop that it was ordered to make there.
 */
import type { JournalLine } from './replica-messages.ts';

export function effectsAfterTakeover(journals: readonly (readonly JournalLine[])[]): string[] {
  const claims = new Map<string, { readonly at: number; readonly epoch: number }[]>();
  for (const [at, point, operationId, epoch] of journals.flat()) {
    if (point !== 'after_claim') continue;
    const known = claims.get(operationId);
    if (known) known.push({ at, epoch });
    else claims.set(operationId, [{ at, epoch }]);
  }
  return journals.flatMap((journal) => {
    const started = new Map<string, number>();
    return journal.flatMap(([at, point, operationId, epoch]) => {
      const holder = `${operationId}/${epoch}`;
      if (point === 'before_effect') started.set(holder, at);
      if (point !== 'after_effect') return [];
      const beganAt = started.get(holder) ?? at;
      const later = claims.get(operationId)?.find((claim) => claim.epoch > epoch && claim.at < beganAt);
      if (!later) return [];
      const lateMs = Math.round(beganAt - later.at);
      return [
        `${operationId}: an effect of epoch ${epoch} began ${lateMs} ms after epoch ${later.epoch} was claimed`,
      ];
    });
  });
}
