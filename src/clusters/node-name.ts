/** The name of a machine's node in its cluster. */
import type { Labels, Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';

export const NODE_NAME_LABEL = 'ingot/node-name';

/** What Kubernetes accepts: a DNS subdomain. */
const NODE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const MAX_NODE_NAME = 253;

export function isNodeName(name: string): boolean {
  return name.length <= MAX_NODE_NAME && NODE_NAME.test(name);
}

/** The machine's id, unless its label says otherwise. */
export function nodeNameOf(machine: Pick<Machine, 'machineId' | 'labels'>): string {
  return machine.labels[NODE_NAME_LABEL] ?? machine.machineId;
}

export function checkedNodeName(machine: Pick<Machine, 'machineId' | 'labels'>): string {
  const name = nodeNameOf(machine);
  if (isNodeName(name)) return name;
  throw new StepFailure({
    class: 'permanent',
    code: 'NODE_NAME_INVALID',
    message: `"${name}" can't be the name of a node; give the machine one with the label ${NODE_NAME_LABEL}`,
  });
}

export function checkNodeNameLabel(labels: Labels): { label: string; problem: string } | null {
  const name = labels[NODE_NAME_LABEL];
  if (name === undefined || isNodeName(name)) return null;
  const problem = `must be lower-case letters, digits, "-" and ".", as a node's name in Kubernetes`;
  return { label: NODE_NAME_LABEL, problem };
}
