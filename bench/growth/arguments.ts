/** The flags of `npm run bench:growth`. */
import { parseArgs } from 'node:util';
import { ArgumentError, countOf, sizesOf } from '../rig/arguments.ts';
import type { FleetSize } from './fill.ts';

export const USAGE = `npm run bench:growth -- [options]
  fills fleets of several sizes, calls every method of the API in each alternately, and prints by which factor it grows
  --fleets <n,n>            machines, and as many agents (default 10000,100000,1000000)
  --operations-each <n>     operations of a machine (default 10), --most-operations <n> in all (default 1000000)
  --events-each <n>         events of a machine (default 100), --most-events <n> in all (default 2000000)
  --rounds <n>              measured calls of each kind in each fleet (default 11)
  --only <text,text>        only calls whose name has one of these texts
  --json                    figures for machines
ends with 1 when a call that is needed every day grows by more than 1.3`;

export interface GrowthArguments {
  readonly fleets: readonly FleetSize[];
  readonly rounds: number;
  /** Empty: all of them. */
  readonly only: readonly string[];
  readonly form: 'text' | 'json';
}

const OPTIONS = {
  fleets: { type: 'string', default: '10000,100000,1000000' },
  'operations-each': { type: 'string', default: '10' },
  'most-operations': { type: 'string', default: '1000000' },
  'events-each': { type: 'string', default: '100' },
  'most-events': { type: 'string', default: '2000000' },
  rounds: { type: 'string', default: '11' },
  only: { type: 'string', default: '' },
  json: { type: 'boolean', default: false },
} as const;

export function readGrowthArguments(argv: readonly string[]): GrowthArguments {
  const values = parsed(argv);
  const most = (machines: number, each: 'operations-each' | 'events-each', cap: keyof typeof values) =>
    Math.min(machines * countOf(`--${each}`, values[each]), countOf(`--${cap}`, String(values[cap])));
  return {
    fleets: sizesOf('--fleets', values.fleets).map((machines) => ({
      machines,
      operations: Math.max(machines, most(machines, 'operations-each', 'most-operations')),
      events: Math.max(machines, most(machines, 'events-each', 'most-events')),
    })),
    rounds: countOf('--rounds', values.rounds),
    only: values.only.split(',').filter((text) => text !== ''),
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
