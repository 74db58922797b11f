// `npm run dev`: the server as `npm start` runs it, and the console beside it from its sources, reloaded as they are
// edited, at http://127.0.0.1:5173/. Arguments after `--` go to `ingot serve`.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureInstalled } from './ensure-installed.mjs';

ensureBuilt();
ensureInstalled('development');
const root = fileURLToPath(new URL('..', import.meta.url));
const args = process.argv.slice(2).filter((arg) => arg !== '--');
const asked = args.find((arg, index) => args[index - 1] === '--http-addr' || arg.startsWith('--http-addr='));
const address = asked?.replace('--http-addr=', '') ?? process.env.INGOT_HTTP_ADDR ?? '127.0.0.1:8080';
process.env.INGOT_HTTP_URL ??= `http://${address}`;
const { createServer } = await import('vite');
const vite = await createServer({ root: `${root}/console`, configFile: `${root}/console/vite.config.ts` });
await vite.listen();
vite.printUrls();

const server = spawn(process.execPath, ['scripts/start.mjs', ...args], {
  cwd: root,
  stdio: 'inherit',
});
server.once('exit', async (code) => {
  await vite.close();
  process.exit(code ?? 1);
});
// A terminal signals the server as well, and it takes the second for the echo that it is; this process ends after it.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
