/**
 * What `npm run bench:peers` prints: one-step operations, from the call over gRPC to the end, against job queues on the same
 * PostgreSQL that do an equivalent step, alternately. They keep less, and each row says what.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { enterMaintenance, register } from '../parts/operations.ts';
import { ArgumentError, argumentsOrExit, countOf } from '../rig/arguments.ts';
import { thisBuild } from '../rig/build-commit.ts';
import { type Cleanup, runWithCleanup } from '../rig/cleanup.ts';
import { Figures, showRow } from '../rig/figures.ts';
import { startSubject } from '../rig/subject.ts';
import { startGraphileWorker } from './graphile-worker.ts';
import { createMachines, type Peer, type PeerOptions } from './peer.ts';
import { startPgBoss } from './pg-boss.ts';
import { startSkipLocked } from './skip-locked.ts';

const USAGE = `npm run bench:peers -- [options]
  --jobs <n>     jobs and operations of a round (default 3000)
  --rounds <n>   rounds, alternately (default 5)
  --json         figures for machines`;

interface PeerArguments {
  readonly jobs: number;
  readonly rounds: number;
  readonly form: 'text' | 'json';
}

function readPeerArguments(argv: readonly string[]): PeerArguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        jobs: { type: 'string', default: '3000' },
        rounds: { type: 'string', default: '5' },
        json: { type: 'boolean', default: false },
      },
    });
    return {
      jobs: countOf('--jobs', values.jobs),
      rounds: countOf('--rounds', values.rounds),
      form: values.json ? 'json' : 'text',
    };
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

const STARTS = [startSkipLocked, startGraphileWorker, startPgBoss] as const;

/** Each has a database of its own in the server's PostgreSQL. */
async function startPeers(
  serverUrl: string,
  sql: pg.Pool,
  machines: number,
  cleanup: Cleanup,
): Promise<Peer[]> {
  const peers: Peer[] = [];
  for (const [at, start] of STARTS.entries()) {
    await sql.query(`CREATE DATABASE peer_${at}`);
    const url = new URL(serverUrl);
    url.pathname = `peer_${at}`;
    const own = new pg.Pool({ connectionString: url.href, max: 2 });
    own.on('error', () => {});
    cleanup.add(() => own.end());
    await createMachines(own, machines);
    const options: PeerOptions = { url: url.href, sql: own };
    const peer = await start(options);
    cleanup.add(() => peer.stop());
    peers.push(peer);
  }
  return peers;
}

async function main(args: PeerArguments, cleanup: Cleanup): Promise<void> {
  const subject = await startSubject({ build: thisBuild(), cleanup });
  const peers = await startPeers(subject.databaseUrl, subject.sql, args.jobs, cleanup);
  const figures = new Figures();
  const load = loadavg()[0] ?? 0;
  // The first round is for compilers and caches.
  for (let round = -1; round < args.rounds; round += 1) {
    if (args.form === 'text')
      console.error(round < 0 ? 'warming up' : `round ${round + 1} of ${args.rounds}`);
    const prefix = `peers-${round + 1}`;
    await register({ subject }, prefix, args.jobs);
    const ours = await enterMaintenance({ subject }, prefix, args.jobs);
    for (const { name, run } of peers) {
      const value = await run(args.jobs);
      if (round < 0) continue;
      figures.add('ours', [
        {
          what: `one-step operations beside ${name}`,
          unit: 'perSecond',
          value: ours,
          base: { of: name, value },
        },
      ]);
    }
  }
  const rows = figures.rows({});
  const lacks = Object.fromEntries(peers.map((peer) => [peer.name, peer.lacks]));
  if (args.form === 'json') {
    const jobs = { jobs: args.jobs, rounds: args.rounds, load: { before: load, after: loadavg()[0] } };
    console.log(JSON.stringify({ ...jobs, rows, lacks }, null, 2));
    return;
  }
  for (const row of rows) {
    for (const line of showRow(row, null)) console.log(line);
    console.log(`  it keeps ${lacks[row.base?.of ?? '']}`);
  }
  console.log(`load of the machine before and after: ${load}, ${loadavg()[0]}`);
}

const args = argumentsOrExit(USAGE, readPeerArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
