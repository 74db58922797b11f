/**
 * Reads the event log of a rollout and says what is wrong with it. Written without the functions of the product: what it
 * knows is the order of the events, the rack of each machine and the wave that it was put into.
 */
export interface LoggedEvent {
  readonly event_id: number;
  readonly kind: string;
  readonly subject: string;
  readonly from_state: string;
  readonly to_state: string;
  readonly machine_id: string | null;
  readonly operation_id: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface Place {
  readonly machineId: string;
  readonly rack: string;
  readonly wave: number;
}

export interface Promised {
  readonly rolloutId: string;
  readonly maxParallel: number;
  readonly maxInRack: number;
  /** Operations of each machine that must have completed. */
  readonly operationsEach: number;
}

export interface History {
  readonly findings: readonly string[];
  /** The most operations at once, in all and in one rack: so that it is seen that the limits were reached. */
  readonly mostAtOnce: number;
  readonly mostInRack: number;
  readonly starts: number;
}

const ENDS = new Set([
  'completed',
  'reconciled',
  'failed_retryable',
  'failed_manual_intervention',
  'cancelled',
]);

export function checkHistory(
  events: readonly LoggedEvent[],
  places: readonly Place[],
  { rolloutId, maxParallel, maxInRack, operationsEach }: Promised,
): History {
  const findings: string[] = [];
  const placeOf = new Map(places.map((place) => [place.machineId, place]));
  const active = new Map<string, Place>();
  const completed = new Map<string, number>();
  const started = new Map<string, number>();
  const left = new Map<number, number>();
  for (const { wave } of places) left.set(wave, (left.get(wave) ?? 0) + operationsEach);
  let isHeld = false;
  let mostAtOnce = 0;
  let mostInRack = 0;
  for (const event of events) {
    if (event.kind === 'rollout' && event.subject === rolloutId) {
      if (event.to_state === 'paused' || event.to_state === 'stopped') isHeld = true;
      if (event.to_state === 'running' && event.from_state !== 'waiting') isHeld = false;
    }
    if (event.kind !== 'operation' || event.operation_id === null) continue;
    const place = placeOf.get(event.machine_id ?? '');
    if (event.from_state === '' && event.metadata.rollout_id === rolloutId) {
      if (!place) {
        findings.push(`${event.machine_id} was started and is not in the rollout`);
        continue;
      }
      if (isHeld) findings.push(`${place.machineId} started while the rollout was held`);
      for (const [wave, count] of left)
        if (wave < place.wave && count > 0)
          findings.push(`${place.machineId} of wave ${place.wave} started before wave ${wave} was done`);
      active.set(event.operation_id, place);
      started.set(place.machineId, (started.get(place.machineId) ?? 0) + 1);
      const inRack = [...active.values()].filter(({ rack }) => rack === place.rack).length;
      mostAtOnce = Math.max(mostAtOnce, active.size);
      mostInRack = Math.max(mostInRack, inRack);
      if (active.size > maxParallel)
        findings.push(`${active.size} at once, at most ${maxParallel} are allowed`);
      if (inRack > maxInRack)
        findings.push(`${inRack} at once in ${place.rack}, at most ${maxInRack} are allowed`);
    } else if (ENDS.has(event.to_state)) {
      const ended = active.get(event.operation_id);
      if (!ended || !active.delete(event.operation_id)) continue;
      left.set(ended.wave, (left.get(ended.wave) ?? 0) - 1);
      if (event.to_state === 'completed')
        completed.set(ended.machineId, (completed.get(ended.machineId) ?? 0) + 1);
    }
  }
  for (const { machineId } of places) {
    const times = started.get(machineId) ?? 0;
    if (times !== operationsEach)
      findings.push(`${machineId} was started ${times} times, not ${operationsEach}`);
    if ((completed.get(machineId) ?? 0) !== operationsEach) findings.push(`${machineId} was not completed`);
  }
  const starts = [...started.values()].reduce((sum, count) => sum + count, 0);
  return { findings, mostAtOnce, mostInRack, starts };
}
