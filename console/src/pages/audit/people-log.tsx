/** What people did: one sentence for each call, by day. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import { Link } from 'wouter';
import { allOf, equals } from '../../../../src/client/filter-text.ts';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { admin, fleet } from '../../api/clients.ts';
import { capitalize } from '../../capitalize.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { machineHref, operationHref } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { clockText } from '../../ui/clock-text.ts';
import { IdText } from '../../ui/id-text.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Clock, msOf } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { useZone } from '../../ui/zone.ts';
import { bulkSentence, bulks } from './bulk-deeds.ts';
import { RANGES, type Range, rangeFilter } from './day-range.ts';
import { type Deed, deeds, sentence } from './sentence.ts';

const PAGE = 200;
/** Who decides something; agents, nodes and the server itself only report. */
const PEOPLE = '(actor_kind = admin OR actor_kind = operator)';
/** Neither a sign-in nor a refused call changes anything. */
const CHANGES = 'NOT (kind = access OR (kind = session AND to = created))';

/** A day from the URL; empty when it is none. */
function useDay(name: 'from' | 'to'): [day: string, set: (day: string) => void] {
  const [text, set] = useUrlParam(name, 'replace');
  return [/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '', set];
}

/** What the page shows, for its export too. */
export function usePeopleFilter(): string {
  const [range] = useUrlParam('when');
  const [actor] = useUrlParam('actor');
  const [from] = useDay('from');
  const [to] = useDay('to');
  const [more] = useUrlParam('more');
  const zone = useZone();
  const known = Object.hasOwn(RANGES, range) ? (range as Range) : '';
  return allOf([
    PEOPLE,
    more === 'shown' ? '' : CHANGES,
    actor && equals('actor_id', actor),
    rangeFilter(known, { from, to }, Date.now(), zone),
  ]);
}

/** Those whom the loaded events need not name, where the caller may read them. */
function useKnownActors(): readonly string[] {
  const isAllowed = useForbidden()('admin', [...METHODS.readTokens, ...METHODS.readIdentities]) === '';
  const { data } = useQuery({
    queryKey: ['known-actors'],
    queryFn: async () => {
      const [{ tokens }, { identities }] = await Promise.all([
        admin.listTokens({}),
        admin.listIdentities({}),
      ]);
      return [...tokens.map(({ name }) => name), ...identities.map(({ identity }) => identity)];
    },
    enabled: isAllowed,
  });
  return data ?? [];
}

export function PeopleLog() {
  const [range, setRange] = useUrlParam('when');
  const [actor, setActor] = useUrlParam('actor');
  const [more, setMore] = useUrlParam('more');
  const filter = usePeopleFilter();
  const log = useInfiniteQuery({
    queryKey: ['events', 'people', filter],
    queryFn: ({ pageParam }) => fleet.listEvents({ filter, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const events = log.data?.pages.flatMap((page) => page.events) ?? [];
  const known = useKnownActors();
  const actors = [...new Set([...known, ...events.map(({ actorId }) => actorId), actor])]
    .filter(Boolean)
    .sort();
  return (
    <>
      <div className="row kinds">
        <div className="row" role="toolbar" aria-label="When">
          {Object.entries(RANGES).map(([value, text]) => (
            <Button key={value} kind="quiet" pressed={range === value} onClick={() => setRange(value)}>
              {text}
            </Button>
          ))}
        </div>
        {range === 'between' && (
          <>
            <DayField title="From" name="from" />
            <DayField title="To" name="to" />
          </>
        )}
        <label className="menu-choice">
          <span className="soft">By</span>
          <select className="input" value={actor} onChange={(event) => setActor(event.target.value)}>
            <option value="">everyone</option>
            {actors.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <Button
          kind="quiet"
          pressed={more === 'shown'}
          onClick={() => setMore(more === 'shown' ? '' : 'shown')}
        >
          Sign-ins and refused calls
        </Button>
      </div>
      <Panel title="What people did, newest first" padding="none">
        {log.isPending && <Loading lines={8} />}
        {log.isError && !log.data && (
          <Failed what="Failed to load events" error={log.error} onRetry={() => void log.refetch()} />
        )}
        {log.isSuccess && events.length === 0 && (
          <Empty title="No one did anything then">Choose another time or another person.</Empty>
        )}
        {events.length > 0 && <DayList events={events} />}
        <LoadMore list={log}>{events.length} events shown</LoadMore>
      </Panel>
    </>
  );
}

function DayField({ title, name }: { title: string; name: 'from' | 'to' }) {
  const [day, setDay] = useDay(name);
  return (
    <label className="menu-choice">
      <span className="soft">{title}</span>
      <input className="input" type="date" value={day} onChange={(event) => setDay(event.target.value)} />
    </label>
  );
}

function DayList({ events }: { events: readonly Event[] }) {
  const zone = useZone();
  const byDay = new Map<string, Deed[][]>();
  for (const bulk of bulks(deeds(events))) {
    const day = clockText(msOf(bulk[0]?.lead.at) ?? 0, zone).slice(0, 10);
    byDay.set(day, [...(byDay.get(day) ?? []), bulk]);
  }
  return (
    <ol className="deeds">
      {[...byDay].map(([day, of]) => (
        <Fragment key={day}>
          <li className="deed-day numeric">{day}</li>
          {of.map(([deed, ...others]) => {
            if (!deed) return null;
            if (others.length === 0) return <DeedLine key={deed.key} deed={deed} />;
            return <BulkLine key={deed.key} lead={deed.lead} deeds={[deed, ...others]} />;
          })}
        </Fragment>
      ))}
    </ol>
  );
}

function BulkLine({ lead, deeds: all }: { lead: Event; deeds: readonly Deed[] }) {
  const why = lead.kind === 'access' ? '' : lead.comment;
  return (
    <li className="deed">
      <Clock at={lead.at} />
      <div>
        <strong>{lead.actorId}</strong> {bulkSentence(all, lead)}
        {why !== '' && <span className="soft">: {why}</span>}
        <details>
          <summary className="soft">
            Machines, since <Clock at={all.at(-1)?.lead.at} />
          </summary>
          <ul>
            {all.map(({ key, lead: { machineId, operationId } }) => (
              <li key={key}>
                <Link href={operationId ? operationHref(operationId) : machineHref(machineId)}>
                  {machineId}
                </Link>
              </li>
            ))}
          </ul>
        </details>
      </div>
      <span className="deed-links" />
      <span className="soft">{lead.address}</span>
    </li>
  );
}

function DeedLine({ deed: { lead, others } }: { deed: Deed }) {
  const why = lead.kind === 'access' ? '' : lead.comment;
  return (
    <li className="deed">
      <Clock at={lead.at} />
      <div>
        <strong>{lead.actorId}</strong> <IdText>{sentence(lead)}</IdText>
        {why !== '' && <span className="soft">: {why}</span>}
        {others.length > 0 && (
          <details>
            <summary className="soft">
              and {others.length} {others.length === 1 ? 'change' : 'changes'} with it
            </summary>
            <ul>
              {others.map((event) => (
                <li key={event.eventId.toString()} className="soft">
                  <IdText>{capitalize(sentence(event))}</IdText>
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      <span className="deed-links">
        {lead.operationId && <Link href={operationHref(lead.operationId)}>Operation</Link>}
        {lead.machineId && <Link href={machineHref(lead.machineId)}>Machine</Link>}
      </span>
      <span className="soft" title={lead.requestId && `Request ${lead.requestId}`}>
        {lead.address}
      </span>
    </li>
  );
}
