// `npm run dev`: the server as `npm start` runs it, and the console beside it from its sources, reloaded as they are
// edited, at http://127.0.0.1:5173/. Arguments after `--` go to `ingot serve`.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureInstalled } from './ensure-installed.mjs';

ensureBuilt();
ensureInstalled('development');
const root = fileURLToPath(new URL('..', import.meta.url));
const { createServer } = await import('vite');
const vite = await createServer({ root: `${root}/console`, configFile: `${root}/console/vite.config.ts` });
await vite.listen();
vite.printUrls();

const server = spawn(process.execPath, ['scripts/start.mjs', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
server.once('exit', async (code) => {
  await vite.close();
  process.exit(code ?? 1);
});
// The terminal tells the server itself; this process waits for it, so that it can end in order.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
