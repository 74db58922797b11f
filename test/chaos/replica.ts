/**
 * One replica of the crash test: the real server, which kills or stops itself at a named point when it is ordered
 * to. Its settings come from the environment, as for `ingot serve`; its one argument is the journal to write.
 *
 * The journal is written with plain writes to a file, so what was written is there after a SIGKILL. The line of
 * before_effect is written after the order was obeyed: its time is when the work really went on.
 */
import { openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import pino from 'pino';
import type { Job } from '../../src/engine/job.ts';
import type { CrashPoint } from '../../src/engine/run-job.ts';
import { readConfiguration } from '../../src/server/settings/configuration.ts';
import { readSettings } from '../../src/server/settings/settings.ts';
import { startServer } from '../../src/server/start-server.ts';
import { type JournalLine, monotonicMs, type Order, type Report } from './replica-messages.ts';

const SIGNALS = { kill: 'SIGKILL', stop: 'SIGSTOP' } as const satisfies Record<
  Order['fault'],
  NodeJS.Signals
>;

const journalFile = openSync(process.argv[2] ?? '/dev/null', 'a');
let standing: { readonly order: Order; left: number } | null = null;

function report(message: Report): void {
  writeSync(1, `${JSON.stringify(message)}\n`);
}

function note(point: CrashPoint, operation: Job): void {
  const line: JournalLine = [monotonicMs(), point, operation.id, operation.epoch];
  writeSync(journalFile, `${JSON.stringify(line)}\n`);
}

function obey(point: CrashPoint, operation: Job): void {
  if (standing?.order.point !== point) return;
  standing.left -= 1;
  if (standing.left > 0) return;
  const { order } = standing;
  standing = null;
  report({ report: 'obeying', order, operationId: operation.id, epoch: operation.epoch });
  process.kill(process.pid, SIGNALS[order.fault]);
}

function crashPoint(point: CrashPoint, operation: Job): void {
  if (point !== 'before_effect') note(point, operation);
  obey(point, operation);
  if (point === 'before_effect') note(point, operation);
}

const settings = readSettings(process.env, {}, process.cwd());
const log = pino({ level: settings.logLevel, base: null }, pino.destination({ dest: 2, sync: true }));
const server = await startServer({
  settings,
  configuration: { ...readConfiguration(null), looks: { ...readConfiguration(null).looks, enabled: false } },
  log,
  onFatal: (error) => {
    throw error;
  },
  crashPoint,
});

let stopping = false;
const stop = async () => {
  if (stopping) return;
  stopping = true;
  await server.stop();
  process.exit(0);
};
process.once('SIGTERM', stop);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const order = JSON.parse(line) as Order;
    standing = { order, left: order.after };
  })
  // The storm is gone: there is nothing left to do.
  .on('close', stop);
report({
  report: 'ready',
  grpcPort: server.grpcPort,
  httpPort: server.httpPort,
  adminTokenFile: server.adminTokenFile,
});
