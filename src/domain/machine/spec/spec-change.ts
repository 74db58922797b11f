/**
 * What can't change while an operation is active: its steps read spec and labels one after the other, and a step must not act
 * on another host, BMC or cluster than the step before it.
 */
import { Fault } from '../../error/fault.ts';
import type { Labels, MachineSpec } from '../machine.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from './spec-field.ts';
import { specText } from './spec-value.ts';

export interface Described {
  readonly spec: MachineSpec;
  readonly labels: Labels;
}

/** The paths that differ and are fixed while an operation is active. */
export function fixedChanges(
  before: Described,
  after: Described,
  readsLabel: (name: string) => boolean,
): string[] {
  const fields = SPEC_FIELD_NAMES.filter(
    (name) =>
      SPEC_FIELDS[name].whileOperationRuns === 'fixed' &&
      specText(before.spec, name) !== specText(after.spec, name),
  );
  const names = new Set([...Object.keys(before.labels), ...Object.keys(after.labels)]);
  const labels = [...names].filter(
    (name) => readsLabel(name) && labelOf(before.labels, name) !== labelOf(after.labels, name),
  );
  return [...fields.map((name) => `spec.${name}`), ...labels.sort().map((name) => `labels.${name}`)];
}

function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

export function changedUnderOperation(
  machineId: string,
  operationId: string,
  paths: readonly string[],
): Fault {
  return new Fault('OPERATION_ACTIVE', {
    message: `${paths.join(', ')} can't change while operation ${operationId} of ${machineId} is active; wait for it, or cancel it first`,
    metadata: { machine_id: machineId, operation_id: operationId, fields: paths.join(',') },
    violations: paths.map((path) => ({
      subject: path,
      description: `can't change while operation ${operationId} is active`,
    })),
  });
}
