/** The fleet over time: machines by state, operations by hour, how many failed, and how long each type takes. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { FleetHistory } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationType } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { fleet } from '../../api/clients.ts';
import { operationWords } from '../../operation-words.ts';
import { listOf } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { ColumnsChart } from '../../ui/columns-chart.tsx';
import { Panel } from '../../ui/panel.tsx';
import { durationText } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { numberText } from './counts.ts';
import {
  END_SERIES,
  endColumns,
  endedIn,
  failureColumns,
  percentText,
  STATE_SERIES,
  stateColumns,
} from './fleet-history.ts';

const PERIODS = { day: { title: 'Last day', hours: 24 }, week: { title: 'Last week', hours: 168 } } as const;
const EVERY_MS = 60_000;

export function HistoryPanel() {
  const [text, setText] = useUrlParam('period');
  const chosen = text === 'week' ? 'week' : 'day';
  const { hours } = PERIODS[chosen];
  const history = useQuery({
    queryKey: ['fleet-history', hours],
    queryFn: () => fleet.getFleetHistory({ hours }),
    refetchInterval: EVERY_MS,
  });
  return (
    <Panel
      title="Over time"
      actions={(['day', 'week'] as const).map((name) => (
        <Button
          key={name}
          kind="quiet"
          pressed={name === chosen}
          onClick={() => setText(name === 'day' ? '' : name)}
        >
          {PERIODS[name].title}
        </Button>
      ))}
    >
      {history.isPending && <Loading lines={6} />}
      {history.isError && !history.data && (
        <Failed
          what="Failed to load the history"
          error={history.error}
          onRetry={() => void history.refetch()}
        />
      )}
      {history.data && <Charts history={history.data} />}
    </Panel>
  );
}

function Charts({ history }: { history: FleetHistory }) {
  const ended = endedIn(history);
  const ends = endColumns(history);
  const most = Math.max(0, ...ends.map(({ values }) => values.reduce((sum, value) => sum + value, 0)));
  const failures = failureColumns(history);
  const worst = Math.max(0, ...failures.map(({ values }) => values[0] ?? 0));
  const states = stateColumns(history);
  return (
    <div className="history-charts">
      {states.length > 1 && (
        <ColumnsChart
          title="Machines by state"
          summary="whole fleet"
          series={STATE_SERIES}
          columns={states}
        />
      )}
      <ColumnsChart
        title="Operations per hour"
        summary={`${numberText(ended.operations)} ended, at most ${numberText(most)} in an hour`}
        series={END_SERIES}
        columns={ends}
        legend="sum"
      />
      <ColumnsChart
        title="Failure rate"
        summary={`${percentText(ended.rate)}, ${numberText(ended.failed)} failed; worst hour ${percentText(worst)}`}
        series={[{ name: 'failed', tone: 'red' }]}
        columns={failures}
        top={Math.max(10, Math.ceil(worst / 10) * 10)}
        text={percentText}
      />
      <Durations history={history} />
    </div>
  );
}

/** How long operations took that succeeded: half of them, and nine of ten. */
function Durations({ history: { durations } }: { history: FleetHistory }) {
  if (durations.length === 0) return <Empty title="No operations ended in this time" />;
  const longest = Math.max(1, ...durations.map(({ p90Seconds }) => p90Seconds));
  return (
    <div className="durations">
      <strong>Duration by type</strong>
      <table className="table">
        <thead>
          <tr>
            <th>Type</th>
            <th className="number">Ended</th>
            <th className="number">Failed</th>
            <th className="number">p50</th>
            <th className="number">p90</th>
            <th className="bars">
              <span className="visually-hidden">p50 and p90 as bars</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {durations.map(({ type, operations, failed, p50Seconds, p90Seconds }) => {
            const name = OperationType[type] ?? '';
            return (
              <tr key={type}>
                <td>
                  <Link href={listOf('/operations', `type = ${name}`)}>{operationWords(name)}</Link>
                </td>
                <td className="number">{numberText(operations)}</td>
                <td className="number">{failed === 0 ? '0' : percentText((100 * failed) / operations)}</td>
                <td className="number">{durationText(p50Seconds * 1000)}</td>
                <td className="number">{durationText(p90Seconds * 1000)}</td>
                <td className="bars" aria-hidden="true">
                  <span className="p90" style={{ width: `${(p90Seconds / longest) * 100}%` }}>
                    <span className="p50" style={{ width: `${(p50Seconds / (p90Seconds || 1)) * 100}%` }} />
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
