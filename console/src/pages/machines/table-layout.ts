/**
 * What is at each place of the table: a machine, or the heading of a group. The list is in the order of the groups, so a group is a
 * range of it; no place is stored, because there may be a hundred thousand.
 */
export interface CountedGroup {
  /** Empty: machines without a value. Null: those beyond the groups that the server counts. */
  readonly value: string | null;
  /** Of all that match. */
  readonly machines: number;
}

/** The machines of a group are those of the list from `from` to before `to`. */
export interface PlacedGroup extends CountedGroup {
  readonly from: number;
  readonly to: number;
  readonly place: number;
  readonly isCollapsed: boolean;
}

export type Entry =
  | { readonly kind: 'group'; readonly group: PlacedGroup }
  | { readonly kind: 'machine'; readonly index: number };

export class TableLayout {
  readonly places: number;
  readonly groups: readonly PlacedGroup[];

  constructor(machines: number, groups: readonly CountedGroup[], collapsed: ReadonlySet<string | null>) {
    const placed: PlacedGroup[] = [];
    let from = 0;
    let place = 0;
    const counted = groups.reduce((sum, group) => sum + group.machines, 0);
    const beyond = { value: null, machines: machines - counted };
    for (const group of groups.length > 0 && beyond.machines > 0 ? [...groups, beyond] : groups) {
      // The rest of the list is still being read.
      if (from >= machines) break;
      const to = Math.min(from + group.machines, machines);
      const isCollapsed = collapsed.has(group.value);
      placed.push({ ...group, from, to, place, isCollapsed });
      place += 1 + (isCollapsed ? 0 : to - from);
      from = to;
    }
    this.groups = placed;
    this.places = placed.length === 0 ? machines : place;
  }

  at(place: number): Entry {
    const group = this.#lastGroup((candidate) => candidate.place <= place);
    if (!group) return { kind: 'machine', index: place };
    if (group.place === place) return { kind: 'group', group };
    return { kind: 'machine', index: group.from + place - group.place - 1 };
  }

  /** Of the heading, where the machine's group is collapsed. */
  placeOf(index: number): number {
    const group = this.#lastGroup((candidate) => candidate.from <= index);
    if (!group) return index;
    return group.isCollapsed ? group.place : group.place + 1 + index - group.from;
  }

  /** The first machine at that place or below it. */
  machineFrom(place: number): number {
    const entry = this.at(place);
    return entry.kind === 'machine' ? entry.index : entry.group.from;
  }

  #lastGroup(isBefore: (group: PlacedGroup) => boolean): PlacedGroup | undefined {
    let low = 0;
    let high = this.groups.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const group = this.groups[middle];
      if (group && isBefore(group)) low = middle + 1;
      else high = middle;
    }
    return this.groups[low - 1];
  }
}
