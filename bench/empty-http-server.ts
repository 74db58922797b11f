/** The least that a fastify server can do with a JSON request: what GetMachine over HTTP is compared with. */
import fastify from 'fastify';

const app = fastify({ logger: false });
app.post('/baremetal.v2.MachineService/GetMachine', async () => ({}));
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;
process.stdout.write(`${JSON.stringify({ httpPort: port })}\n`);
process.once('SIGTERM', () => process.exit(0));
