/**
 * The events of a batch as one text parameter: a line for each event, and in it a value for each column. PostgreSQL splits it in less
 * than half the time in which it reads the same as JSON (docs/decisions/0081-lines-of-events.md).
 *
 * No value contains what separates: JSON escapes control characters, and a text that has one of these gets the replacement character, as
 * one that PostgreSQL can't store does.
 */
import type { NewEvent } from '../../domain/event.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { storedProgress } from '../operations/stored-progress.ts';

const LINE_END = '\x1e';
const VALUE_END = '\x1f';
const NO_VALUE = '\x1d';
/** These three, NUL, and unpaired surrogates. */
const UNSTORABLE = new RegExp(`[\\0${LINE_END}${VALUE_END}${NO_VALUE}\\p{Cs}]`, 'gu');
/** A first test that costs less, and that nearly every text passes: no control character, and nothing that could be half of a pair. */
const SUSPECT = /[^ -\ud7ff\ue000-\uffff]/;

/** The values of a line, in their order. */
const COLUMNS = [
  ['kind', 'text'],
  ['subject', 'text'],
  ['"from"', 'text'],
  ['"to"', 'text'],
  ['"actorKind"', 'text'],
  ['"actorId"', 'text'],
  ['comment', 'text'],
  ['metadata', 'jsonb'],
  ['"machineId"', 'text'],
  ['"operationId"', 'text'],
  ['snapshot', 'jsonb'],
  ['address', 'text'],
  ['"requestId"', 'text'],
  ['via', 'text'],
  ['changes', 'jsonb'],
] as const;

/** The events in the parameter, as rows named e; `n` is their order. A line is split once: OFFSET keeps the parts apart. */
export function eventRows(parameter: string): string {
  const columns = COLUMNS.map(([name, type], index) => `v[${index + 1}]::${type} AS ${name}`);
  return `(SELECT n, ${columns.join(', ')} FROM (
      SELECT n, string_to_array(line, E'\\x1f', E'\\x1d') AS v
      FROM unnest(string_to_array(${parameter}::text, E'\\x1e')) WITH ORDINALITY AS l (line, n) OFFSET 0) AS lines) AS e`;
}

/** Empty for no events. */
export function eventsAsLines(events: readonly NewEvent[]): string {
  return joinedLines(events.map(lineOf));
}

/** Of what `eventsAsLines` returned, each of at least one event. */
export function joinedLines(lines: readonly string[]): string {
  return lines.join(LINE_END);
}

function lineOf(event: NewEvent): string {
  const { actor, snapshot, changes } = event;
  const { origin } = actor;
  return [
    event.kind,
    stored(event.subject),
    stored(event.from),
    stored(event.to),
    actor.kind,
    stored(actor.id),
    stored(event.comment || (origin?.reason ?? '')),
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
  return text === null || text === undefined ? NO_VALUE : stored(text);
}

function stored(text: string): string {
  return SUSPECT.test(text) ? text.replace(UNSTORABLE, '\ufffd') : text;
}
