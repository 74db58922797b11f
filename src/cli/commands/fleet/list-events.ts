import { Command } from 'commander';
import { allOf, equals } from '../../../client/filter-text.ts';
import { EVENT_KINDS } from '../../../domain/event.ts';
import { type Event, EventSchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { followStream } from '../../connection/follow-stream.ts';
import { pagesOf } from '../../connection/pages.ts';
import { Reconnect } from '../../connection/reconnect.ts';
import type { Exit } from '../../errors/exit-code.ts';
import { addExamples, addListing } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeStreamed } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { wrapAtWords } from '../../output/table-fit.ts';
import { clockText, instantText } from '../../output/time-text.ts';

interface EventsOptions extends ListingOptions, WebOption {
  readonly filter?: string;
  readonly machine?: string;
  readonly follow?: true;
}

import { addWeb, openList, type WebOption } from '../open-list.ts';

const DEFAULT_LIMIT = 100;

const COLUMNS: readonly Column<Event>[] = [
  { header: 'TIME', cell: ({ at }) => instantText(at) },
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId, stays: 'longest' },
  { header: 'KIND', cell: ({ kind }) => kind },
  { header: 'SUBJECT', cell: subjectOf },
  { header: 'CHANGE', cell: changeOf, stays: 'longest' },
  { header: 'ACTOR', cell: actorOf },
];
const COMMENT: Column<Event> = { header: 'COMMENT', cell: ({ comment }) => comment };

const EVENTS: Rendering<Event> = {
  json: (event) => jsonOf(EventSchema, event),
  name: ({ eventId }) => String(eventId),
  columns: [...COLUMNS, COMMENT],
  wideColumns: [
    { header: 'EVENT_ID', cell: ({ eventId }) => String(eventId) },
    ...COLUMNS,
    { header: 'OPERATION_ID', cell: ({ operationId }) => operationId },
    { header: 'ADDRESS', cell: ({ address }) => address },
    { header: 'REQUEST_ID', cell: ({ requestId }) => requestId },
    { header: 'CHANGED', cell: changedOf },
    { header: 'METADATA', cell: ({ metadata }) => (metadata === '{}' ? '' : metadata) },
    COMMENT,
  ],
};

export const listEvents = (context: CommandContext): Command => eventList(context, 'events');

/** The group of the noun, whose list has the short form `events`. */
export function eventGroup(context: CommandContext): Command {
  return new Command('event')
    .description('The event log: what changed, when, and by whom')
    .addCommand(eventList(context, 'list'));
}

function eventList(context: CommandContext, name: 'events' | 'list'): Command {
  const path = name === 'list' ? 'event list' : name;
  const command = new Command(name)
    .description('Show the event log, newest first, or follow it')
    .option('--filter <filter>', 'only those that match, such as kind=condition AND to=true')
    .option('-m, --machine <machine-id>', 'only those of this machine')
    .option('-f, --follow', 'print new events instead, until Ctrl-C')
    .addHelpText(
      'after',
      `
Fields of the filter: kind, subject, machine_id, operation_id, actor_kind, actor_id, from, to, comment, address,
request_id, at. Kinds of events:
${wrapAtWords(EVENT_KINDS.join(', '), 100)
  .map((line) => `  ${line}`)
  .join('\n')}
Events of tokens, sessions, settings, access and audit are for admins only.`,
    );
  addExamples(command, context.program, [
    `${path} -m machine-1 --limit 20`,
    `${path} --filter 'kind=phase AND to=MAINTENANCE'`,
    `${path} -f`,
  ]);
  return addListing(addWeb(command), EVENTS, { limit: DEFAULT_LIMIT }).action(
    context.action<EventsOptions>(async ({ options, api }) => {
      const filter = allOf([options.filter, options.machine && equals('machine_id', options.machine)]);
      if (options.web) return openList(context, options, 'audit', filter);
      if (!options.follow) return list(context, api, filter, options);
      await follow(context, api, filter, options.output);
      return 'ok';
    }),
  );
}

async function list(
  context: CommandContext,
  api: Api,
  filter: string,
  options: EventsOptions,
): Promise<Exit> {
  const pages = pagesOf(async (page) => {
    const { events, nextPageToken } = await api.fleet.listEvents({ filter, ...page });
    return { items: events, nextPageToken };
  }, askedFor(options));
  return writeListing(context, options, EVENTS, pages, 'no event matches');
}

async function follow(
  context: CommandContext,
  api: Api,
  filter: string,
  output: OutputFormat,
): Promise<void> {
  const reconnect = new Reconnect({
    probe: (signal) => api.fleet.whoAmI({}, { signal }),
    notify: (message) => context.err.line(message),
    address: api.address,
  });
  await context.interruptible(async (signal) => {
    const open = (cursor: string, connection: AbortSignal) =>
      api.fleet.watchEvents({ filter, cursor }, { signal: connection });
    for await (const { event } of followStream({ open, reconnect, signal, whenClosed: 'lost' })) {
      if (event === undefined) continue;
      writeStreamed(context.out, output, EVENTS, event, () => lineOf(event));
      await context.out.drained();
    }
  });
}

function lineOf(event: Event): string {
  const parts = [
    event.machineId,
    event.kind,
    subjectOf(event),
    changeOf(event),
    actorOf(event),
    event.comment,
  ];
  return `[${clockText(event.at)}] ${plainText(parts.filter((part) => part !== '').join('  '))}`;
}

/** Empty if the subject is the machine itself, which has its own column. */
function subjectOf({ subject, machineId }: Event): string {
  return subject === machineId ? '' : subject;
}

function changeOf({ from, to }: Event): string {
  if (from === to) return to;
  return from === '' ? to : `${from} → ${to || '-'}`;
}

function changedOf({ changes }: Event): string {
  return changes.map(({ field, before, after }) => `${field}: ${before || '-'} → ${after || '-'}`).join(', ');
}

function actorOf({ actorKind, actorId }: Event): string {
  return `${actorKind}:${actorId}`;
}
