/** A server in a process of its own, on the database that it is given. Prints its ports as one line of JSON. */
import pino from 'pino';
import { readConfiguration } from '../src/server/settings/configuration.ts';
import { readSettings } from '../src/server/settings/settings.ts';
import { startServer } from '../src/server/start-server.ts';

const settings = readSettings(
  process.env,
  { httpAddress: process.env.BENCH_HTTP_ADDRESS ?? '127.0.0.1:0', grpcAddress: '127.0.0.1:0' },
  process.cwd(),
);
const server = await startServer({
  settings,
  // What probes cost is measured separately, in sweep.ts.
  configuration: { ...readConfiguration(null), looks: { ...readConfiguration(null).looks, enabled: false } },
  log: pino({ level: process.env.BENCH_LOG_LEVEL ?? 'warn' }, pino.destination(2)),
  onFatal: (error) => {
    throw error;
  },
});
process.stdout.write(
  `${JSON.stringify({ grpcPort: server.grpcPort, httpPort: server.httpPort, tokenFile: server.adminTokenFile })}\n`,
);
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
