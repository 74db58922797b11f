/** The flags of `npm run bench:replicas`. */
import { parseArgs } from 'node:util';
import { ArgumentError, countOf, sizesOf } from '../rig/arguments.ts';

export const USAGE = `npm run bench:replicas -- [options]
  operations and keepalives a second with calls to several replicas on one PostgreSQL, and again with slow commits
  --replicas <n,n>       how many (default 1,2,4)
  --commit-ms <n>        milliseconds that each flush of the log waits in the second part (default 2)
  --operations <n>       operations of a round (default 6000)
  --warm <n>             operations of each replica alone before the first round (default 6000)
  --keepalives <n>       keepalives of a round (default 20000)
  --rounds <n>           rounds, alternately (default 3)
  --json                 figures for machines
The wait is PostgreSQL's own commit_delay with commit_siblings 0: the session that flushes the log sleeps first, and commits that come
meanwhile share the next flush, as the answer of a synchronous standby makes them wait. Locks are held for as long.
All replicas run all the time, and each of them has compiled its code before the first round. What is compared is what they carry, not how they start.
ends with 1 when more replicas are slower by more than a tenth`;

export interface ReplicaArguments {
  readonly replicas: readonly number[];
  readonly commitMs: number;
  readonly operations: number;
  readonly warm: number;
  readonly keepalives: number;
  readonly rounds: number;
  readonly form: 'text' | 'json';
}

const OPTIONS = {
  replicas: { type: 'string', default: '1,2,4' },
  'commit-ms': { type: 'string', default: '2' },
  operations: { type: 'string', default: '6000' },
  warm: { type: 'string', default: '6000' },
  keepalives: { type: 'string', default: '20000' },
  rounds: { type: 'string', default: '3' },
  json: { type: 'boolean', default: false },
} as const;

export function readReplicaArguments(argv: readonly string[]): ReplicaArguments {
  const values = parsed(argv);
  return {
    replicas: sizesOf('--replicas', values.replicas),
    commitMs: countOf('--commit-ms', values['commit-ms']),
    operations: countOf('--operations', values.operations),
    warm: countOf('--warm', values.warm),
    keepalives: countOf('--keepalives', values.keepalives),
    rounds: countOf('--rounds', values.rounds),
    form: values.json ? 'json' : 'text',
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}
