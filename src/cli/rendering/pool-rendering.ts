/** The details of one pool. */
import { METRIC_NAMES, METRICS } from '../../domain/agent/agent.ts';
import { bytesText, metricText } from '../../domain/agent/metric-text.ts';
import {
  UNSCHEDULABLE,
  UNSCHEDULABLE_REASONS,
  type UnschedulableReason,
} from '../../domain/machine/schedulable.ts';
import type { Pool, PoolCapacity } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { padEnd, plainText } from '../output/plain-text.ts';
import { Table } from '../output/table.ts';
import type { TextSink } from '../output/text-sink.ts';
import { instantText } from '../output/time-text.ts';

const TITLE_WIDTH = 20;

export function writePool(sink: TextSink, pool: Pool): void {
  const line = (title: string, text: string): void =>
    sink.line(`${padEnd(`${title}:`, TITLE_WIDTH)}${plainText(text) || '-'}`);
  const of = (text: (capacity: PoolCapacity) => string): string =>
    [pool.capacity, pool.totalCapacity].map((capacity) => (capacity ? text(capacity) : '0')).join(' of ');
  line('Pool', pool.name);
  line('Health', pool.healthy ? 'healthy' : 'degraded: no machine is schedulable');
  line('Schedulable', `${pool.schedulable} of ${pool.total} machines`);
  line(
    'CPU',
    of(({ cpuMillicores }) => `${Number(cpuMillicores) / 1000} cores`),
  );
  line(
    'Memory',
    of(({ memoryBytes }) => bytesText(Number(memoryBytes))),
  );
  line(
    'GPUs',
    of(({ gpuCount }) => String(gpuCount)),
  );
  line('Created', `${instantText(pool.createdAt)} by ${pool.createdBy}`);
  writeReasons(sink, pool);
  writeGpus(sink, pool);
  writePresence(sink, pool);
  writeMetrics(sink, pool);
}

function writeReasons(sink: TextSink, { unschedulable }: Pool): void {
  const reasons = Object.entries(unschedulable).sort(([, left], [, right]) => right - left);
  if (reasons.length === 0) return;
  sink.line('');
  new Table<[string, number]>(sink, [
    { header: 'NOT_SCHEDULABLE', cell: ([reason]) => reason },
    { header: 'MACHINES', cell: ([, count]) => String(count) },
    { header: 'BECAUSE', cell: ([reason]) => (isReason(reason) ? UNSCHEDULABLE[reason].because : '') },
  ]).write(reasons);
}

function isReason(text: string): text is UnschedulableReason {
  return UNSCHEDULABLE_REASONS.some((reason) => reason === text);
}

function writeGpus(sink: TextSink, { gpus }: Pool): void {
  if (gpus.length === 0) return;
  sink.line('');
  new Table<Pool['gpus'][number]>(sink, [
    { header: 'GPU', cell: ({ model }) => model },
    { header: 'SCHEDULABLE', cell: ({ schedulable }) => String(schedulable) },
    { header: 'TOTAL', cell: ({ total }) => String(total) },
  ]).write(gpus);
}

function writePresence(sink: TextSink, { machines }: Pool): void {
  const counts = Object.entries(machines).filter(([, count]) => count > 0);
  if (counts.length === 0) return;
  sink.line('');
  new Table<[string, number]>(sink, [
    { header: 'PRESENCE', cell: ([presence]) => presence },
    { header: 'MACHINES', cell: ([, count]) => String(count) },
  ]).write(counts);
}

function writeMetrics(sink: TextSink, { metrics }: Pool): void {
  const known = METRIC_NAMES.filter((name) => metrics[name] !== undefined);
  if (known.length === 0) return;
  sink.line('');
  new Table<(typeof METRIC_NAMES)[number]>(sink, [
    { header: 'METRIC', cell: (name) => name },
    { header: 'VALUE', cell: (name) => metricText(name, metrics[name]) },
    { header: 'MEANING', cell: (name) => METRICS[name].meaning },
  ]).write(known);
}
