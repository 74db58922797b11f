/** What the BMC measures: charts over a day, the last values with their limits, and the health of components. */
import { lazy, Suspense, useMemo, useState } from 'react';
import { SENSOR_KIND_NAMES, SENSOR_KINDS } from '../../../../../src/domain/hardware/sensor.ts';
import type {
  ListSensorsResponse,
  Sensor,
  SensorSeries,
} from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { Empty, Failed, Loading } from '../../../ui/blank.tsx';
import { Button } from '../../../ui/button.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { Age } from '../../../ui/time.tsx';
import { healthTone } from './health-tone.ts';
import { firstSeries, inOrderOfInterest, sensorChart } from './sensor-charts.ts';
import { useSensorHistory, useSensors } from './use-hardware.ts';

const MetricChart = lazy(() => import('../metric-chart.tsx').then((m) => ({ default: m.MetricChart })));

export function SensorsPanel({ machineId, hasBmc }: { machineId: string; hasBmc: boolean }) {
  const sensors = useSensors(machineId);
  const history = useSensorHistory(machineId);
  const { data } = sensors;
  return (
    <Panel title="Sensors">
      {sensors.isPending && <Loading />}
      {sensors.isError && !data && (
        <Failed
          what="Failed to load the sensors"
          error={sensors.error}
          onRetry={() => void sensors.refetch()}
        />
      )}
      {data && data.sensors.length === 0 && data.problem === '' && (
        <Empty title={hasBmc ? 'Not read yet' : 'No BMC'}>
          <span>
            {hasBmc
              ? 'BMCs are read every few minutes.'
              : 'Sensors are those of the BMC that spec.bmc_endpoint names.'}
          </span>
        </Empty>
      )}
      {data && (
        <div className="stack">
          {data.problem !== '' && (
            <p role="status">
              <span className="badge tone-yellow">not read</span> since{' '}
              <Age at={data.problemSince} suffix="" />: {data.problem}
            </p>
          )}
          <Components components={data.components} />
          <Charts series={history.data ?? []} />
          {data.sensors.length > 0 && <Values reading={data} />}
        </div>
      )}
    </Panel>
  );
}

function Components({ components }: Pick<ListSensorsResponse, 'components'>) {
  if (components.length === 0) return null;
  return (
    <ul className="component-healths" aria-label="Health of components">
      {components.map(({ component, health }) => (
        <li key={component}>
          <span className={`badge tone-${healthTone(health)}`}>
            {component}: {health}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Charts({ series }: { series: readonly SensorSeries[] }) {
  const [showsAll, setShowsAll] = useState(false);
  const charts = useMemo(
    () => (showsAll ? inOrderOfInterest(series) : firstSeries(series)).map(sensorChart),
    [series, showsAll],
  );
  if (series.length === 0) return null;
  return (
    <>
      <div className="charts">
        {charts.map(({ chart, samples }) => (
          <Suspense key={chart.title} fallback={<div className="chart waiting" />}>
            <MetricChart chart={chart} samples={samples} />
          </Suspense>
        ))}
      </div>
      {(showsAll || charts.length < series.length) && (
        <Button kind="quiet" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show fewer charts' : `Show all ${series.length} charts`}
        </Button>
      )}
    </>
  );
}

function Values({ reading: { sensors, readAt } }: { reading: ListSensorsResponse }) {
  return (
    <details>
      <summary>
        All {sensors.length} sensors{' '}
        {readAt && (
          <>
            (read <Age at={readAt} />)
          </>
        )}
      </summary>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Sensor</th>
            <th scope="col">Kind</th>
            <th scope="col">Value</th>
            <th scope="col">Health</th>
            <th scope="col">Limits</th>
          </tr>
        </thead>
        <tbody>
          {SENSOR_KIND_NAMES.flatMap((kind) => sensors.filter((sensor) => sensor.kind === kind)).map(
            (sensor) => (
              <tr key={sensor.name}>
                <th scope="row">{sensor.name}</th>
                <td>{SENSOR_KINDS[sensor.kind as keyof typeof SENSOR_KINDS].title}</td>
                <td className="number">
                  {sensor.value === undefined ? '–' : `${sensor.value} ${sensor.unit}`}
                </td>
                <td>
                  {sensor.health !== '' && (
                    <span className={`badge tone-${healthTone(sensor.health)}`}>{sensor.health}</span>
                  )}
                </td>
                <td>{limitsText(sensor)}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </details>
  );
}

function limitsText({ lowCritical, lowWarning, highWarning, highCritical }: Sensor): string {
  const low = lowWarning ?? lowCritical;
  const high = highWarning ?? highCritical;
  return [low === undefined ? '' : `above ${low}`, high === undefined ? '' : `below ${high}`]
    .filter((text) => text !== '')
    .join(', ');
}
