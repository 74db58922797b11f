/** Which machine is in which wave, and in which order the machines of a wave have their turn. */
import { machinesOf } from './amount.ts';
import { amountText } from './amount-text.ts';
import type { WavePlan } from './rollout-spec.ts';

export interface PlannedMachine {
  readonly machineId: string;
  /** The value of the field that the waves are grouped by; empty: it has none. */
  readonly waveGroup: string;
  /** The value of the field of the first limit by group. */
  readonly limitGroup: string;
}

export interface PlannedWave<Machine> {
  readonly name: string;
  readonly machines: readonly Machine[];
}

/** Waves without machines are left out. */
export function planWaves<Machine extends PlannedMachine>(
  plan: WavePlan,
  machines: readonly Machine[],
): PlannedWave<Machine>[] {
  const waves = 'by' in plan ? wavesByField(plan.order, machines) : wavesBySize(plan.sizes, machines);
  return waves
    .filter(({ machines: members }) => members.length > 0)
    .map(({ name, machines: members }) => ({ name, machines: interleaved(members) }));
}

function wavesBySize<Machine>(
  sizes: Extract<WavePlan, { sizes: unknown }>['sizes'],
  machines: readonly Machine[],
): PlannedWave<Machine>[] {
  const waves: PlannedWave<Machine>[] = [];
  let taken = 0;
  for (const size of sizes.at(-1) === 'rest' ? sizes : [...sizes, 'rest' as const]) {
    const count = size === 'rest' ? machines.length - taken : machinesOf(size, machines.length);
    const name = size === 'rest' ? 'rest' : amountText(size);
    waves.push({ name, machines: machines.slice(taken, taken + count) });
    taken = Math.min(taken + count, machines.length);
  }
  return waves;
}

function wavesByField<Machine extends PlannedMachine>(
  order: readonly string[],
  machines: readonly Machine[],
): PlannedWave<Machine>[] {
  const groups = new Map<string, Machine[]>();
  for (const machine of machines) {
    const group = groups.get(machine.waveGroup);
    if (group) group.push(machine);
    else groups.set(machine.waveGroup, [machine]);
  }
  const others = [...groups.keys()].filter((name) => !order.includes(name)).sort();
  return [...new Set([...order, ...others])].map((name) => ({ name, machines: groups.get(name) ?? [] }));
}

/**
 * One machine of each group, then the second of each: a limit by group then holds up as few as possible. By counting, because to
 * sort a hundred thousand keeps other calls waiting.
 */
function interleaved<Machine extends PlannedMachine>(machines: readonly Machine[]): readonly Machine[] {
  const seen = new Map<string, number>();
  const ranks = machines.map(({ limitGroup }) => {
    const rank = seen.get(limitGroup) ?? 0;
    seen.set(limitGroup, rank + 1);
    return rank;
  });
  if (seen.size <= 1) return machines;
  const places = firstPlaces(ranks);
  const ordered = [...machines];
  for (const [index, machine] of machines.entries()) {
    const rank = ranks[index] ?? 0;
    const place = places[rank] ?? 0;
    ordered[place] = machine;
    places[rank] = place + 1;
  }
  return ordered;
}

/** For each rank, how many have a smaller one. */
function firstPlaces(ranks: readonly number[]): number[] {
  const counts: number[] = [];
  for (const rank of ranks) counts[rank] = (counts[rank] ?? 0) + 1;
  let before = 0;
  return counts.map((count) => {
    before += count;
    return before - count;
  });
}
