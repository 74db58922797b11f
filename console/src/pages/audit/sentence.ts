/** An event as the part of a sentence after its actor: "started reimage of web-1". */
import { isRole } from '../../../../src/domain/actor.ts';
import type { EventKind } from '../../../../src/domain/event.ts';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';

type Said = Pick<Event, 'kind' | 'subject' | 'from' | 'to' | 'machineId' | 'comment'>;

const words = (name: string) => name.toLowerCase().replaceAll('_', ' ');

/** Kinds whose events are about a record with a name: "created pool gpu". */
const record = ({ kind, subject, to }: Said) => `${words(to)} ${kind} ${subject}`;
const layer = ({ kind, machineId, to }: Said) => `set ${kind} of ${machineId} to ${words(to)}`;

const SENTENCES = {
  machine: ({ subject, machineId, to }) => `${words(to)} ${machineId || subject}`,
  phase: ({ machineId, to }) => `moved ${machineId} to ${to}`,
  service: layer,
  install: layer,
  presence: layer,
  observed: layer,
  condition: ({ subject, machineId, to }) =>
    `${to === 'true' ? 'flagged' : 'cleared'} ${subject} ${to === 'true' ? 'on' : 'of'} ${machineId}`,
  operation: ({ subject, machineId, from, to }) =>
    from === ''
      ? `started ${words(subject)} of ${machineId}`
      : `made ${words(subject)} of ${machineId} ${words(to)}`,
  step: ({ subject, machineId, to }) => `made step ${subject} of ${machineId} ${words(to)}`,
  progress: ({ machineId }) => `reported progress of ${machineId}`,
  // The event of a new token has its role as its state.
  token: ({ subject, machineId, from, to }) => {
    if (machineId !== '') return `${words(to)} the token of ${machineId}`;
    return from === '' && isRole(to)
      ? `created token ${subject} with role ${to}`
      : `${words(to)} token ${subject}`;
  },
  plan: record,
  pool: record,
  image: record,
  workflow: record,
  node: ({ subject, machineId, to }) => `${words(to)} node ${machineId || subject}`,
  // Of an identity, where an admin ended or restored its access; its own otherwise.
  session: ({ subject, to }) => {
    if (to === 'revoked' || to === 'restored') return `${to} the access of ${subject}`;
    return to === 'created' ? 'signed in' : to === 'ended' ? 'signed out' : `${words(to)} a session`;
  },
  settings: ({ subject, to }) => `${words(to)} the settings${subject === '' ? '' : ` (${subject})`}`,
  access: ({ subject, comment }) => `was refused ${subject}${comment === '' ? '' : `: ${comment}`}`,
  audit: ({ subject, to }) => `${words(to)} the audit log${subject === '' ? '' : ` (${subject})`}`,
  budget: record,
  rollout: ({ subject, from, to }) =>
    from === '' ? `started rollout ${subject}` : `set rollout ${subject} to ${words(to)}`,
  view: record,
  hardware: ({ machineId, to }) => `recorded the hardware of ${machineId}: ${to}`,
  console: ({ machineId, to }) => `serial console of ${machineId}: ${words(to)}`,
} as const satisfies Record<EventKind, (event: Said) => string>;

export function sentence(event: Said): string {
  const say: ((said: Said) => string) | undefined = (SENTENCES as Record<string, (said: Said) => string>)[
    event.kind
  ];
  return say ? say(event) : `${event.kind} ${event.subject}: ${event.to}`;
}

/** What one call did: its events, the one that says most first. */
export interface Deed {
  readonly key: string;
  readonly lead: Event;
  readonly others: readonly Event[];
}

/** What a call is about comes before what follows from it. */
const WEIGHTS: readonly string[] = ['rollout', 'operation', 'machine', 'node', 'condition', 'token'];

function weight({ kind }: Event): number {
  const place = WEIGHTS.indexOf(kind);
  return place < 0 ? WEIGHTS.length : place;
}

/** Events of one call are one deed, at the place of its newest. The events are newest first. */
export function deeds(events: readonly Event[]): Deed[] {
  const byKey = new Map<string, Event[]>();
  for (const event of events) {
    const key = event.requestId === '' ? `event ${event.eventId}` : event.requestId;
    byKey.set(key, [...(byKey.get(key) ?? []), event]);
  }
  return [...byKey].flatMap(([key, of]) => {
    const [lead, ...others] = of.toSorted((one, other) => weight(one) - weight(other));
    return lead ? [{ key, lead, others }] : [];
  });
}
