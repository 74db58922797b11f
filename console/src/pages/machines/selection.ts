/**
 * The selected machines, by id only, so that a range or the whole list can be selected without fetching its rows. The
 * selection is always a subset of the shown list: no action affects machines that the user cannot see. A click costs the
 * same with 100,000 selected machines as with none: it copies only what differs from a set that stays.
 */
export interface Selection {
  readonly ids: SelectedIds;
  /** The row that was selected last; a range starts there. */
  readonly anchor: string;
}

export interface ShownList {
  readonly ids: readonly string[];
  readonly positions: ReadonlyMap<string, number>;
}

/** What a `Set` of ids and the positions of a list have in common. */
interface Ids {
  readonly size: number;
  has(id: string): boolean;
  keys(): Iterable<string>;
}

/** From so many differences on, a new set is made. */
const MAX_DIFFERENCES = 1_000;

const NO_IDS: ReadonlySet<string> = new Set();

export class SelectedIds {
  readonly size: number;
  readonly #base: Ids;
  /** The ids for which `base` is wrong. */
  readonly #flipped: ReadonlySet<string>;
  /** The list that was found to have all of them last. */
  #list: ReadonlyMap<string, number> | null;

  constructor(
    base: Ids,
    flipped: ReadonlySet<string>,
    { size, list }: { readonly size: number; readonly list: ReadonlyMap<string, number> | null },
  ) {
    const keeps = flipped.size <= MAX_DIFFERENCES;
    this.#base = keeps ? base : new Set(idsOf(base, flipped));
    this.#flipped = keeps ? flipped : NO_IDS;
    this.size = size;
    this.#list = list;
  }

  has(id: string): boolean {
    return this.#base.has(id) !== this.#flipped.has(id);
  }

  /** With each of these the other way round. */
  with(ids: readonly string[]): SelectedIds {
    const flipped = new Set(this.#flipped);
    let { size } = this;
    for (const id of ids) {
      size += this.#base.has(id) === flipped.has(id) ? 1 : -1;
      if (!flipped.delete(id)) flipped.add(id);
    }
    const list = this.#list;
    return new SelectedIds(this.#base, flipped, {
      size,
      list: list !== null && ids.every((id) => list.has(id)) ? list : null,
    });
  }

  /** Those that a list has; itself where it has all. */
  in(list: ReadonlyMap<string, number>): SelectedIds {
    if (this.#list === list) return this;
    const ids = [...idsOf(this.#base, this.#flipped)].filter((id) => list.has(id));
    if (ids.length !== this.size) return new SelectedIds(new Set(ids), NO_IDS, { size: ids.length, list });
    this.#list = list;
    return this;
  }
}

function* idsOf(base: Ids, flipped: ReadonlySet<string>): Iterable<string> {
  for (const id of base.keys()) if (!flipped.has(id)) yield id;
  for (const id of flipped) if (!base.has(id)) yield id;
}

export const NOTHING: Selection = {
  ids: new SelectedIds(NO_IDS, NO_IDS, { size: 0, list: null }),
  anchor: '',
};

export function toggled({ ids }: Selection, id: string): Selection {
  return { ids: ids.with([id]), anchor: id };
}

/** Selects or deselects all rows from the one selected last to this one, like this one. */
export function withRange(selection: Selection, list: ShownList, id: string): Selection {
  const from = list.positions.get(selection.anchor);
  const to = list.positions.get(id);
  if (from === undefined || to === undefined) return toggled(selection, id);
  const range = list.ids.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { ...changed(selection, range, selection.ids.has(id) ? 'out' : 'in'), anchor: id };
}

/** Selects a part of the list, or deselects it. */
export function withPart(
  selection: Selection,
  list: ShownList,
  { from, to }: { readonly from: number; readonly to: number },
  change: 'in' | 'out',
): Selection {
  return changed(selection, list.ids.slice(from, to), change);
}

export function everything({ positions }: ShownList): Selection {
  return { ids: new SelectedIds(positions, NO_IDS, { size: positions.size, list: positions }), anchor: '' };
}

/** The part of the selection that is in another list. */
export function kept(selection: Selection, { positions }: ShownList): Selection {
  const ids = selection.ids.in(positions);
  return ids === selection.ids ? selection : { ids, anchor: selection.anchor };
}

/** In the order of the list. */
export function inOrder({ ids }: Selection, list: ShownList): string[] {
  return list.ids.filter((id) => ids.has(id));
}

function changed({ ids, anchor }: Selection, of: readonly string[], to: 'in' | 'out'): Selection {
  return { ids: ids.with(of.filter((id) => ids.has(id) !== (to === 'in'))), anchor };
}
