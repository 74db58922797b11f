/** Who gets into the embedded PostgreSQL: Ingot with its password, and no other process, whatever user it runs as. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { socketDirOf } from './socket-dir.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65534, gid: 65534 };

/** Prints the first byte of the answer to a startup message, with its authentication request or its error. */
const CONNECT = `
  const [socket, user] = process.argv.slice(1);
  const text = Buffer.from('user\\0' + user + '\\0database\\0postgres\\0\\0');
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + text.length, 0);
  head.writeInt32BE(196608, 4);
  const client = require('node:net').connect(socket, () => client.write(Buffer.concat([head, text])));
  client.on('error', (error) => console.log(error.code));
  client.once('data', (data) => {
    const isAsked = data.toString('latin1', 0, 1) === 'R';
    console.log(isAsked ? 'authentication ' + data.readInt32BE(5) : data.toString('latin1', 5).split('\\0').find((part) => part[0] === 'C'));
    client.destroy();
  });
`;

let base: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'ingot-who-test-'));
  server = await startEmbeddedPostgres({ dataDir: join(base, 'data'), ephemeral: true });
});
afterAll(async () => {
  await server.stop();
  rmSync(base, { recursive: true });
});

async function connectAs(account: { uid: number; gid: number } | undefined, role: string): Promise<string> {
  const socket = join(socketDirOf(server.url), '.s.PGSQL.5432');
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', CONNECT, socket, role], {
    ...account,
    cwd: '/',
    env: {},
  });
  return stdout.trim();
}

test.runIf(isRoot)('the user nobody can not connect, as any role', async () => {
  expect(await connectAs(NOBODY, 'postgres')).toBe('EACCES');
  expect(await connectAs(NOBODY, 'ingot')).toBe('EACCES');
});

test('PostgreSQL’s own account can not connect as the superuser, and needs a password for any other role', async () => {
  const { uid, gid } = statSync(join(base, 'data/postgresql'));
  const itself = isRoot ? { uid, gid } : undefined;
  expect(await connectAs(itself, 'postgres')).toBe('C28000');
  expect(await connectAs(itself, 'ingot')).toBe('authentication 10');
});
