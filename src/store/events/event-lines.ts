/** The events of a batch as lines (store/database/lines.ts). Every operation writes many, so their line is written out. */
import type { NewEvent } from '../../domain/event.ts';
import { joinedLines, Lines, lineText, NO_VALUE, VALUE_END } from '../database/lines.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { storedProgress } from '../operations/stored-progress.ts';

/** In the order of `lineOf`. */
const EVENTS = new Lines({
  kind: 'text',
  subject: 'text',
  from: 'text',
  to: 'text',
  actorKind: 'text',
  actorId: 'text',
  comment: 'text',
  metadata: 'jsonb',
  machineId: 'text',
  operationId: 'text',
  snapshot: 'jsonb',
  address: 'text',
  requestId: 'text',
  via: 'text',
  changes: 'jsonb',
});

/** The events in the parameter, as rows named e; `n` is their order. */
export function eventRows(parameter: string): string {
  return `${EVENTS.rows(parameter)} AS e`;
}

/** Empty for no events. */
export function eventsAsLines(events: readonly NewEvent[]): string {
  return joinedLines(events.map(lineOf));
}

function lineOf(event: NewEvent): string {
  const { actor, snapshot, changes } = event;
  const { origin } = actor;
  return [
    event.kind,
    lineText(event.subject),
    lineText(event.from),
    lineText(event.to),
    actor.kind,
    lineText(actor.id),
    lineText(event.comment || (origin?.reason ?? '')),
    toStoredJson(event.metadata),
    orNone(event.machineId),
    orNone(event.operationId),
    snapshot === null ? NO_VALUE : toStoredJson(storedProgress(snapshot)),
    orNone(origin?.address),
    orNone(origin?.requestId),
    orNone(origin?.via),
    changes === undefined ? NO_VALUE : toStoredJson(changes),
  ].join(VALUE_END);
}

function orNone(text: string | null | undefined): string {
  return text === null || text === undefined ? NO_VALUE : lineText(text);
}
