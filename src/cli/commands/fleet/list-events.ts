import { Command, Option } from 'commander';
import { allOf, equals } from '../../../client/filter-text.ts';
import { EVENT_KINDS } from '../../../domain/event.ts';
import { type Event, EventSchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { followStream } from '../../connection/follow-stream.ts';
import { pagesOf } from '../../connection/pages.ts';
import { Reconnect } from '../../connection/reconnect.ts';
import { addOutput, wholeNumber } from '../../input/options.ts';
import {
  isForPeople,
  jsonOf,
  type OutputFormat,
  type Rendering,
  writeList,
  writeStreamed,
} from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { clockText, instantText } from '../../output/time-text.ts';

interface EventsOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
  readonly machine?: string;
  readonly limit: number;
  readonly all?: true;
  readonly follow?: true;
}

const DEFAULT_LIMIT = 100;

const COLUMNS: readonly Column<Event>[] = [
  { header: 'TIME', cell: ({ at }) => instantText(at) },
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId },
  { header: 'KIND', cell: ({ kind }) => kind },
  { header: 'SUBJECT', cell: subjectOf },
  { header: 'CHANGE', cell: changeOf },
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

export function listEvents(context: CommandContext): Command {
  const command = new Command('events')
    .description('Show the event log, newest first, or follow it')
    .option('--filter <filter>', 'for example: kind=condition AND to=true')
    .option('-m, --machine <machine-id>', 'only of this machine')
    .addOption(new Option('--limit <n>', 'the newest n').argParser(wholeNumber).default(DEFAULT_LIMIT))
    .addOption(new Option('--all', 'all events').conflicts('limit'))
    .option('-f, --follow', 'print new events instead, until Ctrl-C')
    .addHelpText(
      'after',
      `\nFields of the filter: kind (${EVENT_KINDS.join(', ')}), subject,\nmachine_id, operation_id, actor_kind, actor_id, from, to, comment, address, request_id, at.\nEvents of tokens, sessions, settings, access and audit are for admins only.`,
    );
  return addOutput(command).action(
    context.action<EventsOptions>(async ({ options, api }) => {
      const filter = allOf([options.filter, options.machine && equals('machine_id', options.machine)]);
      if (options.follow) await follow(context, api, filter, options.output);
      else await list(context, api, filter, options);
      return 'ok';
    }),
  );
}

async function list(
  context: CommandContext,
  api: Api,
  filter: string,
  options: EventsOptions,
): Promise<void> {
  const pages = pagesOf(
    async (page) => {
      const { events, nextPageToken } = await api.fleet.listEvents({ filter, ...page });
      return { items: events, nextPageToken };
    },
    options.all ? undefined : options.limit,
  );
  const count = await writeList(context.out, options.output, EVENTS, pages);
  if (count === 0 && isForPeople(options.output)) context.err.line('no event matches');
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
