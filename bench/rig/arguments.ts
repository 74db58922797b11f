/** The flags of `npm run bench`. */
import { parseArgs } from 'node:util';

export const PARTS = [
  'operations',
  'reboot',
  'watch',
  'watchers',
  'register',
  'get',
  'http',
  'pages',
  'overview',
  'start',
] as const;
export type Part = (typeof PARTS)[number];

export interface BenchArguments {
  /** Null: only this build. */
  readonly against: string | null;
  readonly only: readonly Part[];
  readonly rounds: number;
  /** For each round. */
  readonly operations: number;
  readonly reboots: number;
  readonly watchers: number;
  readonly gets: number;
  /** Sizes of the fleet for pages and counts, ascending. */
  readonly fleets: readonly number[];
  readonly form: 'text' | 'json';
  /** Null: no profiles. */
  readonly profileDir: string | null;
}

export class ArgumentError extends Error {}

export const USAGE = `npm run bench -- [options]
  --against <git ref>   builds that commit and measures it alternately with this build
  --only <parts>        some of: ${PARTS.join(',')}
  --rounds <n>          rounds of every part (default 5)
  --operations <n>      operations and registrations of a round (default 3000)
  --reboots <n>         reboots of a round (default 1500)
  --watchers <n>        watchers while 100 machines reboot (default 1000)
  --gets <n>            single reads of a round (default 8000)
  --fleets <n,n>        machines for pages and counts (default 10000,100000)
  --profile [--profile-dir <dir>]  CPU profiles of the servers, one more round, with a summary by module
  --json                figures for machines`;

const OPTIONS = {
  against: { type: 'string' },
  only: { type: 'string' },
  rounds: { type: 'string', default: '5' },
  operations: { type: 'string', default: '3000' },
  reboots: { type: 'string', default: '1500' },
  watchers: { type: 'string', default: '1000' },
  gets: { type: 'string', default: '8000' },
  fleets: { type: 'string', default: '10000,100000' },
  profile: { type: 'boolean', default: false },
  'profile-dir': { type: 'string', default: 'profiles' },
  json: { type: 'boolean', default: false },
} as const;

export function readArguments(argv: readonly string[]): BenchArguments {
  const { values } = parsed(argv);
  return {
    against: values.against ?? null,
    only: partsOf(values.only),
    rounds: countOf('--rounds', values.rounds),
    operations: countOf('--operations', values.operations),
    reboots: countOf('--reboots', values.reboots),
    watchers: countOf('--watchers', values.watchers),
    gets: countOf('--gets', values.gets),
    fleets: sizesOf('--fleets', values.fleets),
    form: values.json ? 'json' : 'text',
    profileDir: values.profile ? values['profile-dir'] : null,
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS });
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

function partsOf(text: string | undefined): readonly Part[] {
  if (text === undefined) return PARTS;
  const names = text.split(',');
  const unknown = names.filter((name) => !(PARTS as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new ArgumentError(`--only: ${unknown.join(', ')} is no part; parts are ${PARTS.join(', ')}`);
  return PARTS.filter((part) => names.includes(part));
}

export function countOf(flag: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new ArgumentError(`${flag}: ${text} is no number above 0`);
  return Number(text);
}

export function sizesOf(flag: string, text: string): readonly number[] {
  const sizes = text.split(',').map((size) => countOf(flag, size));
  if (sizes.some((size, at) => at > 0 && size <= (sizes[at - 1] ?? 0)))
    throw new ArgumentError(`${flag}: ${text} does not ascend`);
  return sizes;
}

/** Of the command line of this process: `--help` and what is refused end it. */
export function argumentsOrExit<Arguments>(
  usage: string,
  read: (argv: readonly string[]) => Arguments,
): Arguments {
  if (process.argv.includes('--help')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return read(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    console.error(`${error.message}\n${usage}`);
    process.exit(64);
  }
}
