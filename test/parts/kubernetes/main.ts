/** The API server stand-in as a program: `node dist/test/parts/kubernetes/main.js [port]`. */
import { startApiServer } from './api-server.ts';

const port = Number(process.argv[2] ?? 0);
const server = await startApiServer({ port });
console.log(
  JSON.stringify({ server: server.url, ca_file: server.authority.caFile, token_file: server.tokenFile }),
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void server.stop().then(() => process.exit(0)));
}
