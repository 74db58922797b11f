/** Where machines are in their racks: from `location`, whose words are those of the site. */
export interface Placed {
  readonly machineId: string;
  readonly location: {
    readonly site: string;
    readonly row: string;
    readonly rack: string;
    readonly unit: string;
  };
}

export interface Slot<Machine> {
  /** The lowest and the highest unit that it takes. */
  readonly from: number;
  readonly to: number;
  readonly machine: Machine;
}

export interface Rack<Machine> {
  readonly site: string;
  readonly row: string;
  readonly rack: string;
  /** How many units it has: the usual number, or as many as the highest machine needs. */
  readonly height: number;
  readonly slots: readonly Slot<Machine>[];
  /** Those whose unit says no place, or one that another machine has. */
  readonly others: readonly Machine[];
}

const USUAL_HEIGHT = 42;
const HIGHEST = 60;

/** "14", "U14" and "14-15"; null for anything else. */
export function unitsOf(unit: string): { from: number; to: number } | null {
  const found = /^u?(\d{1,2})(?:\s*-\s*u?(\d{1,2}))?$/i.exec(unit.trim());
  if (!found) return null;
  const ends = [Number(found[1]), Number(found[2] ?? found[1])];
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  return from >= 1 && to <= HIGHEST ? { from, to } : null;
}

const inOrder = new Intl.Collator('en', { numeric: true });

export function racksOf<Machine extends Placed>(machines: readonly Machine[]): Rack<Machine>[] {
  const byRack = new Map<string, Machine[]>();
  for (const machine of machines) {
    const { site, row, rack } = machine.location;
    const key = JSON.stringify([site, row, rack]);
    byRack.set(key, [...(byRack.get(key) ?? []), machine]);
  }
  return [...byRack.values()]
    .map(rackOf)
    .toSorted(
      (one, other) =>
        inOrder.compare(one.site, other.site) ||
        inOrder.compare(one.row, other.row) ||
        inOrder.compare(one.rack, other.rack),
    );
}

function rackOf<Machine extends Placed>(machines: readonly Machine[]): Rack<Machine> {
  const { site = '', row = '', rack = '' } = machines[0]?.location ?? {};
  const taken = new Set<number>();
  const slots: Slot<Machine>[] = [];
  const others: Machine[] = [];
  for (const machine of machines) {
    const units = unitsOf(machine.location.unit);
    const wanted = units ? Array.from({ length: units.to - units.from + 1 }, (_, n) => units.from + n) : [];
    if (!units || wanted.some((unit) => taken.has(unit))) {
      others.push(machine);
      continue;
    }
    for (const unit of wanted) taken.add(unit);
    slots.push({ ...units, machine });
  }
  return {
    site,
    row,
    rack,
    height: Math.max(USUAL_HEIGHT, ...slots.map(({ to }) => to)),
    slots: slots.toSorted((one, other) => other.from - one.from),
    others: others.toSorted((one, other) => inOrder.compare(one.machineId, other.machineId)),
  };
}
