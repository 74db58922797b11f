/** A machine's life as one timeline: its layers and its operations above each other, so that what caused what is seen. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { fleet } from '../../api/clients.ts';
import type { MachineView } from '../../machine-view.ts';
import { operationHref, quoted } from '../../pages.ts';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { clockText, clockWithZone } from '../../ui/clock-text.ts';
import { Panel } from '../../ui/panel.tsx';
import { durationText, msOf, useNow } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { useZone } from '../../ui/zone.ts';
import {
  LIFE_LAYERS,
  type LifeEvent,
  type LifeOperation,
  type LifeRow,
  type LifeSpan,
  lifeRows,
  type Period,
  ticksOf,
} from './life.ts';
import type { useOperations } from './use-operations.ts';

const DAY_MS = 86_400_000;
const PERIODS = { day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS, all: Number.POSITIVE_INFINITY } as const;
type PeriodName = keyof typeof PERIODS;
const EVENTS = 500;
/** A new machine has a life of seconds, which no axis can show. */
const LEAST_MS = 600_000;
/** The picture moves on by this step: every second would draw it again for nothing. */
const STEP_MS = 15_000;

export interface LifePanelProps {
  readonly machine: MachineView;
  readonly operations: ReturnType<typeof useOperations>;
}

export function LifePanel({ machine, operations }: LifePanelProps) {
  const [text, setText] = useUrlParam('period');
  const chosen: PeriodName = Object.hasOwn(PERIODS, text) ? (text as PeriodName) : 'week';
  const events = useLayerEvents(machine.machineId);
  const now = Math.ceil(useNow() / STEP_MS) * STEP_MS;
  const createdAt = msOf(machine.message.createdAt) ?? now;
  const period = useMemo((): Period => {
    const from = Math.min(Math.max(now - PERIODS[chosen], createdAt), now - LEAST_MS);
    return { from, to: now };
  }, [now, chosen, createdAt]);
  const { phase, service, install, presence } = machine;
  const rows = useMemo(
    () =>
      lifeRows(
        events.data ?? [],
        operationsOf(operations),
        { phase, service: service ?? '', install, presence },
        period,
      ),
    [events.data, operations, phase, service, install, presence, period],
  );
  return (
    <Panel
      title="Timeline"
      actions={(Object.keys(PERIODS) as PeriodName[]).map((name) => (
        <Button
          key={name}
          kind="quiet"
          pressed={name === chosen}
          onClick={() => setText(name === 'week' ? '' : name)}
        >
          {name === 'all' ? 'All' : `Last ${name}`}
        </Button>
      ))}
    >
      {events.isPending && <Loading lines={4} />}
      {events.isError && !events.data && (
        <Failed
          what="Failed to load the timeline"
          error={events.error}
          onRetry={() => void events.refetch()}
        />
      )}
      {events.data && <Picture rows={rows} period={period} />}
    </Panel>
  );
}

function useLayerEvents(machineId: string) {
  return useQuery({
    queryKey: ['machine', machineId, 'life'],
    queryFn: async (): Promise<LifeEvent[]> => {
      const kinds = Object.keys(LIFE_LAYERS).map((kind) => `kind = ${kind}`);
      const filter = `machine_id = ${quoted(machineId)} AND (${kinds.join(' OR ')})`;
      const { events } = await fleet.listEvents({ filter, pageSize: EVENTS });
      return events.map(({ kind, from, to, at }) => ({ kind, from, to, at: msOf(at) ?? 0 }));
    },
  });
}

function operationsOf({ data }: LifePanelProps['operations']): LifeOperation[] {
  return (data?.pages.flat() ?? []).map(({ operationId, type, phase, message }) => ({
    ...{ operationId, type, phase },
    startedAt: msOf(message.startedAt) ?? msOf(message.createdAt) ?? 0,
    endedAt: msOf(message.finishedAt),
  }));
}

function Picture({ rows, period }: { rows: readonly LifeRow[]; period: Period }) {
  const zone = useZone();
  const { stepMs, ticks } = ticksOf(period);
  const place = (at: number) => `${((at - period.from) / (period.to - period.from)) * 100}%`;
  return (
    <div className="life">
      {rows.map(({ title, spans }) => (
        <div key={title} className="life-row">
          <h3>{title}</h3>
          <ol className="life-track" aria-label={title}>
            {spans.map((span) => (
              <li
                key={span.key}
                className={`life-span tone-${span.tone}`}
                style={{ left: place(span.from), right: `calc(100% - ${place(span.to)})` }}
              >
                <SpanText span={span} hasRoom={(span.to - span.from) / (period.to - period.from) > ROOM} />
              </li>
            ))}
          </ol>
        </div>
      ))}
      <div className="life-row" aria-hidden="true">
        <span />
        <div className="life-axis">
          {ticks.map((tick) => (
            <span key={tick} className="life-tick" style={{ left: place(tick) }}>
              {stepMs < DAY_MS ? clockText(tick, zone).slice(11, 16) : clockText(tick, zone).slice(0, 10)}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}

/** Of the width: a text in less would be cut off. */
const ROOM = 0.08;

function SpanText({ span: { text, from, to, operationId }, hasRoom }: { span: LifeSpan; hasRoom: boolean }) {
  const zone = useZone();
  const title = `${text}, ${durationText(to - from)}\nfrom ${clockWithZone(from, zone)}\nto ${clockWithZone(to, zone)}`;
  const words = hasRoom ? text : <span className="visually-hidden">{text}</span>;
  if (operationId === '') return <span title={title}>{words}</span>;
  return (
    <Link href={operationHref(operationId)} title={title}>
      {words}
    </Link>
  );
}
