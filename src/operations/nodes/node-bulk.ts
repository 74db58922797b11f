/** Applies a change to many nodes, each by itself, so that a refusal for one does not stop the others. */
import { Fault } from '../../domain/error/fault.ts';
import type { Node } from '../../domain/install/node.ts';

export interface BulkResult {
  readonly id: string;
  readonly node: Node | null;
  readonly fault: Fault | null;
}

export async function forEachNode(
  ids: readonly string[],
  change: (id: string) => Promise<Node>,
): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  for (const id of new Set(ids)) {
    try {
      results.push({ id, node: await change(id), fault: null });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      results.push({ id, node: null, fault: error });
    }
  }
  return results;
}
