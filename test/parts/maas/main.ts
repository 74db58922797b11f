/**
 * The simulated MAAS as a program: `npm run maas-sim -- [--port 5240] [--speed 60] [--api-key consumer:token:secret]`.
 * The first line on stdout is JSON: url and api_key. Ends on a signal, or when its stdin is closed with --tied.
 */
import { parseArgs } from 'node:util';
import { startServer } from './server.ts';

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    speed: { type: 'string', default: '1' },
    'api-key': { type: 'string' },
    'min-keepalive-ms': { type: 'string', default: '2000' },
    tied: { type: 'boolean', default: false },
  },
});
const apiKey = values['api-key'];
const server = await startServer({
  host: values.host,
  port: Number(values.port),
  speed: Number(values.speed),
  minKeepaliveMs: Number(values['min-keepalive-ms']),
  ...(apiKey === undefined ? {} : { apiKey }),
});
console.log(JSON.stringify({ url: server.url, api_key: server.apiKey }));

const end = () => void server.stop().then(() => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
// The process that started it may die without stopping it.
if (values.tied) process.stdin.resume().once('close', end);
