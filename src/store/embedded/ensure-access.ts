/*
 * Who may connect to the embedded PostgreSQL. Before each start, while nothing runs in the cluster:
 *
 * - pg_hba.conf is ours: no one connects as the superuser, everyone else proves a password (SCRAM). Even a process of
 *   PostgreSQL's own account, or of root, needs it.
 * - The roles of `roles.ts` are made in single-user mode, which asks for no authentication because no one else is there. A file
 *   in the cluster says for which roles and which password that was done, so that it costs nothing at later starts. A cluster
 *   of an earlier version has no such file, and one that was restored has that of its copy.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scramVerifier, writePrivately } from './access.ts';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { dataArgument, spawnProgram, tailOf, untilExit } from './program.ts';
import { type RoleSettings, roleStatements } from './roles.ts';

export interface WantedAccess {
  readonly cluster: string;
  readonly binaries: Binaries;
  readonly account: Account;
  readonly password: string;
  readonly databases: RoleSettings['databases'];
  readonly durability: 'durable' | 'ephemeral';
  readonly log: (line: string) => void;
}

const AUTHENTICATION = `# Written by Ingot at each start.
local all postgres reject
local all all scram-sha-256
`;

export async function ensureAccess(wanted: WantedAccess): Promise<void> {
  const { cluster, account, password, databases, durability } = wanted;
  writeIfChanged(join(cluster, 'pg_hba.conf'), AUTHENTICATION, account);
  const done = join(cluster, 'ingot-roles');
  const statements = roleStatements({ verifier: password, databases }).join('\n');
  const state = `${createHash('sha256').update(statements).digest('hex')}\n`;
  if (contentOf(done) === state) return;
  await runAlone(wanted, roleStatements({ verifier: scramVerifier(password, durability), databases }));
  writeIfChanged(done, state, account);
}

async function runAlone(
  { cluster, binaries, account, log }: WantedAccess,
  statements: string[],
): Promise<void> {
  const tail = tailOf(log);
  const child = spawnProgram({
    file: binaries.postgres,
    args: ['--single', '-j', '-D', dataArgument(cluster), '-c', 'exit_on_error=on', 'postgres'],
    cluster,
    account,
    onLine: tail.onLine,
    // An empty line ends a statement.
    input: statements.map((statement) => `${statement};\n\n`).join(''),
  });
  const { code } = await untilExit(child);
  if (code !== 0) throw new Error(`PostgreSQL's roles could not be created: ${tail.reason()}`);
}

function writeIfChanged(file: string, content: string, account: Account): void {
  if (contentOf(file) === content) return;
  writePrivately(file, content, account);
}

function contentOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
