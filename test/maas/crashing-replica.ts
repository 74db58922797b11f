/**
 * The real server, with its settings from the environment, that kills itself with SIGKILL where a plan says so. Its one
 * argument is the folder of the plan.
 */
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { readConfiguration } from '../../src/server/settings/configuration.ts';
import { readSettings } from '../../src/server/settings/settings.ts';
import { startServer } from '../../src/server/start-server.ts';
import type { Report } from '../chaos/replica-messages.ts';
import { type CrashPlan, crashesHere } from './crash-plan.ts';

const folder = process.argv[2] ?? '.';
const plan = JSON.parse(readFileSync(join(folder, 'plan.json'), 'utf8')) as CrashPlan;

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
  crashPoint: (point, operation) => {
    if (crashesHere(plan, folder, point, operation)) process.kill(process.pid, 'SIGKILL');
  },
});

const stop = async () => {
  await server.stop();
  process.exit(0);
};
process.once('SIGTERM', stop);
// The test has ended.
process.stdin.resume().once('close', stop);
const report: Report = {
  report: 'ready',
  grpcPort: server.grpcPort,
  httpPort: server.httpPort,
  adminTokenFile: server.adminTokenFile,
};
writeSync(1, `${JSON.stringify(report)}\n`);
