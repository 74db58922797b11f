/**
 * A replica that dies by its own SIGKILL where a plan says so: the real server, with its settings from the environment.
 * Its one argument is the folder of the plan. Each death is written down right before it, as a file that can be made
 * only once, so that whoever takes the operation over goes on.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import type { Job } from '../../src/engine/job.ts';
import type { CrashPoint } from '../../src/engine/run-job.ts';
import { readConfiguration } from '../../src/server/settings/configuration.ts';
import { readSettings } from '../../src/server/settings/settings.ts';
import { startServer } from '../../src/server/start-server.ts';
import type { Report } from '../chaos/replica-messages.ts';
import type { DeathPlan } from './death-plan.ts';

const folder = process.argv[2] ?? '.';
const plan = JSON.parse(readFileSync(join(folder, 'plan.json'), 'utf8')) as DeathPlan;

function crashPoint(point: CrashPoint, operation: Job): void {
  const death = plan[operation.subject];
  const stage = operation.steps[operation.current]?.name;
  if (death?.type !== operation.type || death.stage !== stage || death.point !== point) return;
  // Whichever replica came there before: each pass may be another one's.
  for (let nth = 1; nth < (death.nth ?? 1); nth++) if (isFirst(`${operation.subject}.${nth}`)) return;
  if (isFirst(operation.subject)) process.kill(process.pid, 'SIGKILL');
}

function isFirst(name: string): boolean {
  try {
    closeSync(openSync(join(folder, name), 'wx'));
    return true;
  } catch {
    return false;
  }
}

const settings = readSettings(process.env, {}, process.cwd());
const configuration = readConfiguration(settings.configFile);
const server = await startServer({
  settings,
  configuration: { ...configuration, looks: { ...configuration.looks, enabled: false } },
  log: pino({ level: settings.logLevel, base: null }, pino.destination({ dest: 2, sync: true })),
  onFatal: (error) => {
    throw error;
  },
  // As in fleet.ts: the simulator's clock is fast.
  repeatActMs: 500,
  crashPoint,
});

const stop = async () => {
  await server.stop();
  process.exit(0);
};
process.once('SIGTERM', stop);
// The test is gone: nobody is left to work for.
process.stdin.resume().once('close', stop);
const report: Report = {
  report: 'ready',
  grpcPort: server.grpcPort,
  httpPort: server.httpPort,
  adminTokenFile: server.adminTokenFile,
};
writeSync(1, `${JSON.stringify(report)}\n`);
