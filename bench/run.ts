/**
 * What `npm run bench` prints. Every figure that counts is a ratio of two things measured alternately in this one run, on this
 * machine, against PostgreSQL with durable settings: the build to another commit (`--against`), or to the least that could do
 * the same. The absolute numbers belong to the machine and to nothing else.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LoadClient } from './client.ts';
import { measureOperations, measureReboots, measureRegister } from './parts/operations.ts';
import type { MeasurePart, Round } from './parts/part.ts';
import { measureGet, measureHttp, measureOverview, measurePages, measureStart } from './parts/reads.ts';
import { measureWatch, measureWatchers } from './parts/watching.ts';
import { argumentsOrExit, type BenchArguments, type Part, readArguments, USAGE } from './rig/arguments.ts';
import { buildCommit, thisBuild } from './rig/build-commit.ts';
import { untilCalm } from './rig/calm.ts';
import { type Cleanup, runWithCleanup } from './rig/cleanup.ts';
import { Figures, type Goal, showRow } from './rig/figures.ts';
import {
  type CpuProfile,
  type ProfileSummary,
  showSummary,
  summarizeProfile,
} from './rig/profile-summary.ts';
import { startScript } from './rig/script-process.ts';
import { type Subject, startSubject } from './rig/subject.ts';

const MEASURES = {
  operations: measureOperations,
  reboot: measureReboots,
  watch: measureWatch,
  watchers: measureWatchers,
  register: measureRegister,
  get: measureGet,
  http: measureHttp,
  pages: measurePages,
  overview: measureOverview,
  start: measureStart,
} as const satisfies Record<Part, MeasurePart>;

/** In the words of the rows. */
const GOALS: Readonly<Record<string, Goal>> = {
  'one-step operations, from the call to the end': { ofBase: 0.5, ofOther: 2 },
  'REBOOT on the simulator, with its reads, writes and logs': { ofOther: 2 },
  'event to a watcher under that load, p99': { atMost: 100 },
  '1,000 watchers while 100 machines reboot, p99': { atMost: 250 },
  '1,000 watchers while 100 machines reboot, memory of the server at most': { atMost: 250 },
  'GetOverview at 1,000,000 machines, p99': { atMost: 25 },
  'CountMachines with facets at 1,000,000 machines, p99': { atMost: 25 },
  RegisterMachine: { ofBase: 0.5 },
  'GetMachine over HTTP (Connect JSON)': { ofBase: 0.6 },
  'GetMachine over gRPC': { ofBase: 0.85 },
  'a page of 100 machines at 10,000, p50': { atMost: 2.5 },
  'a page of 100 machines at 100,000, p50': { atMost: 2.5 },
  'a page of 100 machines at 1,000,000, p50': { atMost: 2.5 },
  'garbage collection under them, of the busy time': { atMost: 0.08 },
  'built server, from start to ready, existing database': { atMost: 1_500 },
};

interface Side {
  readonly side: 'ours' | 'other';
  readonly subject: Subject;
}

async function startSides(args: BenchArguments, cleanup: Cleanup): Promise<Side[]> {
  const sides: Side[] = [{ side: 'ours', subject: await startSubject({ build: thisBuild(), cleanup }) }];
  if (args.against !== null) {
    const build = await buildCommit(args.against, cleanup);
    sides.push({ side: 'other', subject: await startSubject({ build, cleanup }) });
  }
  return sides;
}

async function startEmpty(cleanup: Cleanup): Promise<Round['empty']> {
  const { grpcPort } = await startScript('empty-server.js', cleanup);
  const { httpPort = 0 } = await startScript('empty-http-server.js', cleanup);
  const grpc = new LoadClient(`127.0.0.1:${grpcPort}`, 'none');
  cleanup.add(() => grpc.close());
  return { grpc, httpPort };
}

/** Both builds alternately; which of them is first changes with the round. */
async function measure(args: BenchArguments, sides: readonly Side[], cleanup: Cleanup): Promise<Figures> {
  const figures = new Figures();
  const empty = await startEmpty(cleanup);
  // The first round is for compilers and caches.
  for (let number = -1; number < args.rounds; number += 1) {
    if (args.form === 'text')
      console.error(number < 0 ? 'warming up' : `round ${number + 1} of ${args.rounds}`);
    const inTurn = number % 2 === 0 ? sides : [...sides].reverse();
    for (const part of args.only)
      for (const { side, subject } of inTurn) {
        if (args.form === 'text') console.error(`  ${part}, ${subject.build.name}`);
        await untilCalm(sides.map((each) => each.subject));
        const measured = await MEASURES[part]({ subject, args, number: number + 1, empty, cleanup });
        if (number >= 0) figures.add(side, measured);
      }
  }
  return figures;
}

interface Profiled {
  readonly build: string;
  readonly part: Part;
  readonly file: string;
  readonly summary: ProfileSummary;
}

/** A round of its own after the others, because taking a profile slows the server down. */
async function profile(
  args: BenchArguments,
  sides: readonly Side[],
  dir: string,
  cleanup: Cleanup,
): Promise<Profiled[]> {
  mkdirSync(dir, { recursive: true });
  const empty = await startEmpty(cleanup);
  const profiled: Profiled[] = [];
  // A start ends the process that would write the profile.
  for (const part of args.only.filter((name) => name !== 'start'))
    for (const { side, subject } of sides) {
      const file = join(dir, `${part}-${side === 'ours' ? 'this' : subject.build.name}.cpuprofile`);
      await subject.server.startProfile();
      await MEASURES[part]({ subject, args, number: args.rounds + 1, empty, cleanup });
      await subject.server.endProfile(file);
      const summary = summarizeProfile(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile);
      profiled.push({ build: subject.build.name, part, file, summary });
    }
  return profiled;
}

async function main(args: BenchArguments, cleanup: Cleanup): Promise<void> {
  // The summary of a profile is by module.
  if (args.profileDir !== null) process.env.INGOT_MODULES = '1';
  const sides = await startSides(args, cleanup);
  const other = sides.find(({ side }) => side === 'other')?.subject.build.name ?? null;
  const rows = (await measure(args, sides, cleanup)).rows(GOALS);
  const dir = args.profileDir;
  const profiles = dir === null ? [] : await profile(args, sides, resolve(dir), cleanup);
  if (args.form === 'json') {
    console.log(JSON.stringify({ against: other, rounds: args.rounds, rows, profiles }, null, 2));
    return;
  }
  for (const row of rows) for (const line of showRow(row, other)) console.log(line);
  for (const { build, part, file, summary } of profiles) {
    console.log(`\nprofile of ${build} under ${part}: ${file}`);
    for (const line of showSummary(summary)) console.log(line);
  }
}

const args = argumentsOrExit(USAGE, readArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
