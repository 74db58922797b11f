/**
 * Which machines are selected: their ids, and nothing of their rows, so that a range or the whole list can be selected
 * without ever being fetched. What is selected is always a part of the list that is shown: nobody acts on what they
 * can't see.
 */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** The row that was chosen last; a range begins there. */
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

/** From the row that was chosen last to this one, all of them become what this one becomes. */
export function withRange(selection: Selection, list: ShownList, id: string): Selection {
  const from = list.positions.get(selection.anchor);
  const to = list.positions.get(id);
  if (from === undefined || to === undefined) return toggled(selection, id);
  const range = list.ids.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { ...changed(selection, range, selection.ids.has(id) ? 'out' : 'in'), anchor: id };
}

/** All of these in, unless they all are already: then out. */
export function withAllToggled(selection: Selection, ids: readonly string[]): Selection {
  return changed(selection, ids, ids.every((id) => selection.ids.has(id)) ? 'out' : 'in');
}

export function everything({ ids }: ShownList): Selection {
  return { ids: new Set(ids), anchor: '' };
}

/** What is left of it in another list. */
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
