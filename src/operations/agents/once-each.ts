/** Of several calls of one machine in a batch the last one counts, and all get the same answer. */
export async function onceEach<Item extends { readonly machineId: string }, Result>(
  items: readonly Item[],
  flush: (unique: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const last = new Map<string, Item>();
  for (const item of items) last.set(item.machineId, item);
  if (last.size === items.length) return flush(items);
  const ids = [...last.keys()];
  const results = await flush([...last.values()]);
  const byId = new Map(ids.map((id, index) => [id, results[index] as Result]));
  return items.map(({ machineId }) => byId.get(machineId) as Result);
}
