// Makes the agent one file that needs Node.js and nothing else: dist/ingot-agent.mjs, or the path that is given.
import { chmodSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = resolve(process.argv[2] ?? `${root}/dist/ingot-agent.mjs`);
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
// Its licence wants to travel with copies, and this is one.
const commanderLicence = readFileSync(`${root}/node_modules/commander/LICENSE`, 'utf8').trim();

await build({
  input: `${root}/src/agent/standalone.ts`,
  platform: 'node',
  tsconfig: false,
  logLevel: 'warn',
  transform: { target: 'node20.19', define: { INGOT_VERSION: JSON.stringify(version) } },
  output: {
    file,
    format: 'esm',
    minify: true,
    banner: `#!/usr/bin/env node\n/*! The agent of Ingot ${version}. Contains commander:\n${commanderLicence}\n*/`,
  },
});
chmodSync(file, 0o755);
