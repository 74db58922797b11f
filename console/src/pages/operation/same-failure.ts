/**
 * Which failures are the same, so that one rollout tries all of them again: those of the same work at the same step, with the same
 * code and the same message but for what names a machine.
 */
import type { OperationView } from '../../operation-view.ts';

export function failureKey({ type, machineId, message: { error, params } }: OperationView): string {
  const { code = '', message = '', details = {} } = error ?? {};
  return JSON.stringify([type, imageOf(params), code, details.step ?? '', wordsOf(message, machineId)]);
}

/** The image that was asked for: a retry of others must not give them another one. */
export function imageOf(params: Readonly<Record<string, string>>): string {
  return params.image_ref ?? '';
}

/** Ids, addresses and numbers are of one machine: every word that has a digit. */
function wordsOf(message: string, machineId: string): string {
  return message.replaceAll(machineId, '#').replace(/[\w.:-]+/g, (word) => (/\d/.test(word) ? '#' : word));
}

export interface FailureGroup {
  readonly newest: OperationView;
  /** One for each machine, the newest first. */
  readonly machineIds: readonly string[];
}

/** Of failures that are newest first. A machine counts with its last one. */
export function failureGroups(failures: readonly OperationView[]): FailureGroup[] {
  const groups = new Map<string, { newest: OperationView; machineIds: string[] }>();
  const seen = new Set<string>();
  for (const view of failures) {
    if (seen.has(view.machineId)) continue;
    seen.add(view.machineId);
    const key = failureKey(view);
    const group = groups.get(key);
    if (group) group.machineIds.push(view.machineId);
    else groups.set(key, { newest: view, machineIds: [view.machineId] });
  }
  return [...groups.values()];
}
