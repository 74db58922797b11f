/**
 * The selected machines, by id only, so that a range or the whole list can be selected without fetching its rows. The
 * selection is always a subset of the shown list: no action affects machines that the user cannot see.
 */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** The row that was selected last; a range starts there. */
  readonly anchor: string;
}

export const NOTHING: Selection = { ids: new Set(), anchor: '' };

export interface ShownList {
  readonly ids: readonly string[];
  readonly positions: ReadonlyMap<string, number>;
}

export function toggled({ ids }: Selection, id: string): Selection {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return { ids: next, anchor: id };
}

/** Selects or deselects all rows from the one selected last to this one, like this one. */
export function withRange(selection: Selection, list: ShownList, id: string): Selection {
  const from = list.positions.get(selection.anchor);
  const to = list.positions.get(id);
  if (from === undefined || to === undefined) return toggled(selection, id);
  const range = list.ids.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { ...changed(selection, range, selection.ids.has(id) ? 'out' : 'in'), anchor: id };
}

/** Selects all of these, or deselects them if all are selected. */
export function withAllToggled(selection: Selection, ids: readonly string[]): Selection {
  return changed(selection, ids, ids.every((id) => selection.ids.has(id)) ? 'out' : 'in');
}

export function everything({ ids }: ShownList): Selection {
  return { ids: new Set(ids), anchor: '' };
}

/** The part of the selection that is in another list. */
export function kept(selection: Selection, { positions }: ShownList): Selection {
  const ids = [...selection.ids].filter((id) => positions.has(id));
  return ids.length === selection.ids.size ? selection : { ids: new Set(ids), anchor: selection.anchor };
}

/** In the order of the list. */
export function inOrder({ ids }: Selection, list: ShownList): string[] {
  return list.ids.filter((id) => ids.has(id));
}

function changed(selection: Selection, ids: readonly string[], to: 'in' | 'out'): Selection {
  const next = new Set(selection.ids);
  for (const id of ids) {
    if (to === 'in') next.add(id);
    else next.delete(id);
  }
  return { ids: next, anchor: selection.anchor };
}
