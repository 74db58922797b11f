/** Which machine is in which wave, and in which order the machines of a wave have their turn. */
import { machinesOf } from './spec/amount.ts';
import { amountText } from './spec/amount-text.ts';
import type { WavePlan } from './spec/rollout-spec.ts';

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

/** How many machines are looked at between two pauses. */
const IN_ONE_PIECE = 5_000;

/**
 * Waves without machines are left out. A hundred thousand machines keep other calls waiting, so it pauses now and then: the caller
 * goes on when the others had their turn.
 */
export function* planWaves<Machine extends PlannedMachine>(
  plan: WavePlan,
  machines: readonly Machine[],
): Generator<void, PlannedWave<Machine>[]> {
  const waves = 'by' in plan ? yield* wavesByField(plan.order, machines) : wavesBySize(plan.sizes, machines);
  const planned: PlannedWave<Machine>[] = [];
  for (const { name, machines: members } of waves)
    if (members.length > 0) planned.push({ name, machines: yield* interleaved(members) });
  return planned;
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

function* wavesByField<Machine extends PlannedMachine>(
  order: readonly string[],
  machines: readonly Machine[],
): Generator<void, PlannedWave<Machine>[]> {
  const groups = new Map<string, Machine[]>();
  for (const [index, machine] of machines.entries()) {
    if (isPause(index)) yield;
    const group = groups.get(machine.waveGroup);
    if (group) group.push(machine);
    else groups.set(machine.waveGroup, [machine]);
  }
  const others = [...groups.keys()].filter((name) => !order.includes(name)).sort();
  return [...new Set([...order, ...others])].map((name) => ({ name, machines: groups.get(name) ?? [] }));
}

/**
 * One machine of each group, then the second of each: a limit by group then holds up as few as possible. By counting, because
 * sorting can't pause.
 */
function* interleaved<Machine extends PlannedMachine>(
  machines: readonly Machine[],
): Generator<void, readonly Machine[]> {
  const seen = new Map<string, number>();
  const ranks = new Uint32Array(machines.length);
  for (const [index, { limitGroup }] of machines.entries()) {
    if (isPause(index)) yield;
    const rank = seen.get(limitGroup) ?? 0;
    seen.set(limitGroup, rank + 1);
    ranks[index] = rank;
  }
  if (seen.size <= 1) return machines;
  const places = firstPlaces(ranks);
  const ordered = machines.slice();
  for (const [index, machine] of machines.entries()) {
    if (isPause(index)) yield;
    const rank = ranks[index] ?? 0;
    const place = places[rank] ?? 0;
    ordered[place] = machine;
    places[rank] = place + 1;
  }
  return ordered;
}

const isPause = (index: number) => index > 0 && index % IN_ONE_PIECE === 0;

/** For each rank, how many have a smaller one. */
function firstPlaces(ranks: Uint32Array): Uint32Array {
  const places = new Uint32Array(ranks.length + 1);
  for (const rank of ranks) places[rank + 1] = (places[rank + 1] ?? 0) + 1;
  for (let rank = 1; rank < places.length; rank += 1)
    places[rank] = (places[rank] ?? 0) + (places[rank - 1] ?? 0);
  return places;
}
