/** The history of all layers of a machine as one list: its filter, and which live events belong to it. */
import { EVENT_KINDS, type EventKind, isForAdmins } from '../../../../src/domain/event.ts';
import type { ToneLayer } from '../../../../src/domain/tone.ts';

/** These have no machine, and what is for admins is on the page of the audit log. */
const WITHOUT_MACHINE: readonly EventKind[] = ['plan', 'pool'];

export const HISTORY_KINDS: readonly EventKind[] = EVENT_KINDS.filter(
  (kind) => !isForAdmins(kind) && !WITHOUT_MACHINE.includes(kind),
);

/** Progress updates are too frequent to be shown by default. */
const DEFAULT_KINDS: readonly EventKind[] = HISTORY_KINDS.filter((kind) => kind !== 'progress');

export const KIND_LAYERS: Partial<Record<string, ToneLayer>> = {
  phase: 'phase',
  service: 'service',
  install: 'install',
  presence: 'presence',
  operation: 'status',
  step: 'step',
} satisfies Partial<Record<EventKind, ToneLayer>>;

/** Reads the kinds from the URL. Unknown kinds are ignored, and none means the default. */
export function readKinds(text: string): readonly EventKind[] {
  const kinds = HISTORY_KINDS.filter((kind) => text.split(',').includes(kind));
  return kinds.length === 0 ? DEFAULT_KINDS : kinds;
}

export function writeKinds(kinds: readonly EventKind[]): string {
  const isDefault =
    kinds.length === DEFAULT_KINDS.length && DEFAULT_KINDS.every((kind) => kinds.includes(kind));
  return isDefault ? '' : HISTORY_KINDS.filter((kind) => kinds.includes(kind)).join(',');
}

/** From the default, selects only this kind; from any other selection, adds or removes it. */
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

interface IdentifiedEvent {
  readonly eventId: bigint;
  readonly kind: string;
  readonly machineId: string;
}

/** The received events that belong to the list and are newer than all of it, newest first like the list. */
export function newEventsFor<E extends IdentifiedEvent>(
  received: readonly E[],
  machineId: string,
  kinds: readonly EventKind[],
  newest: bigint,
): E[] {
  const wanted: readonly string[] = kinds;
  return received
    .filter((event) => event.machineId === machineId && wanted.includes(event.kind) && event.eventId > newest)
    .toSorted((left, right) => (left.eventId < right.eventId ? 1 : -1));
}
