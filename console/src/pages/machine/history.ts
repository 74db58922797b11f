/** The history of every layer of a machine as one list: what to ask for, and how what happens meanwhile comes in. */
import { EVENT_KINDS, type EventKind } from '../../../../src/domain/event.ts';
import type { ToneLayer } from '../../../../src/domain/tone.ts';

/** Tokens are no part of a machine's history. */
export const HISTORY_KINDS: readonly EventKind[] = EVENT_KINDS.filter((kind) => kind !== 'token');

/** A percentage that grows is no news. */
const USUAL_KINDS: readonly EventKind[] = HISTORY_KINDS.filter((kind) => kind !== 'progress');

export const KIND_LAYERS: Partial<Record<string, ToneLayer>> = {
  phase: 'phase',
  service: 'service',
  install: 'install',
  presence: 'presence',
  operation: 'status',
  step: 'step',
} satisfies Partial<Record<EventKind, ToneLayer>>;

/** From the URL; what it does not know is left out, and nothing means the usual ones. */
export function readKinds(text: string): readonly EventKind[] {
  const kinds = HISTORY_KINDS.filter((kind) => text.split(',').includes(kind));
  return kinds.length === 0 ? USUAL_KINDS : kinds;
}

export function writeKinds(kinds: readonly EventKind[]): string {
  const isUsual = kinds.length === USUAL_KINDS.length && USUAL_KINDS.every((kind) => kinds.includes(kind));
  return isUsual ? '' : HISTORY_KINDS.filter((kind) => kinds.includes(kind)).join(',');
}

/** A press on one of the usual ones shows it alone; on others, adds or takes away. */
export function toggleKind(kinds: readonly EventKind[], kind: EventKind): readonly EventKind[] {
  if (writeKinds(kinds) === '') return [kind];
  const without = kinds.filter((other) => other !== kind);
  return without.length < kinds.length ? without : [...kinds, kind];
}

export function historyFilter(quotedMachineId: string, kinds: readonly EventKind[]): string {
  const some = kinds.length === HISTORY_KINDS.length ? [] : kinds.map((kind) => `kind = ${kind}`);
  const machine = `machine_id = ${quotedMachineId}`;
  return some.length === 0 ? machine : `${machine} AND (${some.join(' OR ')})`;
}

interface Told {
  readonly eventId: bigint;
  readonly kind: string;
  readonly machineId: string;
}

/** Those of the news that belong into the list and are newer than all of it; the newest first, as the list is. */
export function newsFor<E extends Told>(
  news: readonly E[],
  machineId: string,
  kinds: readonly EventKind[],
  newest: bigint,
): E[] {
  const wanted: readonly string[] = kinds;
  return news
    .filter((event) => event.machineId === machineId && wanted.includes(event.kind) && event.eventId > newest)
    .toSorted((left, right) => (left.eventId < right.eventId ? 1 : -1));
}
