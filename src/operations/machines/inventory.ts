/** Registers machines, and updates their labels and specs. Status is never taken from a client. */
import { isDeepStrictEqual } from 'node:util';
import type { Acting } from '../../domain/access/caller.ts';
import { machineOutOfScope, type Scope } from '../../domain/access/scope.ts';
import type { Actor } from '../../domain/actor.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import type { FieldChange, NewEvent } from '../../domain/event.ts';
import { changesBetween } from '../../domain/field-changes.ts';
import type { Labels, Machine } from '../../domain/machine/machine.ts';
import { checkLabels, checkMachineId } from '../../domain/machine/machine-input.ts';
import { EMPTY_SPEC, type SpecMessage, specOfMessage } from '../../domain/machine/spec/machine-spec.ts';
import { changedUnderOperation, fixedChanges } from '../../domain/machine/spec/spec-change.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_GROUP_NAMES,
  type SpecFieldName,
} from '../../domain/machine/spec/spec-field.ts';
import { checkSpec, chosenProvider, labelledProvider } from '../../domain/machine/spec/spec-input.ts';
import { specValue, withSpecValue } from '../../domain/machine/spec/spec-value.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Database } from '../../store/database/database.ts';
import { changeMachine, findMachines } from '../../store/machines/machines.ts';
import type { MachineInput, MachineRegistrar } from '../../store/machines/register-machines.ts';
import { machineNotFound } from './machine-not-found.ts';

export interface InventoryDependencies {
  readonly database: Database;
  readonly registrar: MachineRegistrar;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly defaultProvider: string;
  readonly newMachineId: () => string;
}

/** A machine as a client sends it. */
export interface MachineDescription {
  readonly machineId: string;
  readonly labels: Labels;
  readonly spec?: SpecMessage | undefined;
}

/** Registers a machine; one that exists gets the new labels and spec, and keeps everything else. */
export async function registerMachine(
  dependencies: InventoryDependencies,
  description: MachineDescription,
  acting: Acting,
): Promise<Machine> {
  const machineId =
    description.machineId === ''
      ? dependencies.newMachineId()
      : checkMachineId(description.machineId, 'machine.machine_id');
  const { labels } = description;
  const spec = specOfMessage(description.spec);
  const input = checked(dependencies, { machineId, labels, spec }, dependencies.defaultProvider);
  const { actor, scope } = acting;
  if (scope !== null && !scope.contains({ ...input, pool: null })) throw machineOutOfScope(machineId, scope);
  const event = machineEvent(machineId, '', 'registered', actor, changesBetween(null, described(input)));
  const registered = await hidingForeign(dependencies, machineId, scope, () =>
    dependencies.registrar.register(input, event),
  );
  if (registered) return registered;
  const replaced = await replace(dependencies, machineId, acting, (machine) =>
    checked(dependencies, { machineId, labels, spec }, machine.spec.provider),
  );
  if (replaced) return replaced;
  // The id is that of a machine outside of the scope.
  throw scope === null ? machineNotFound(machineId) : machineOutOfScope(machineId, scope);
}

const SPEC = 'spec.';
const WHOLE_PATHS: readonly string[] = ['labels', 'spec', ...SPEC_GROUP_NAMES.map((group) => SPEC + group)];

/** With a mask, changes only what it names; without one, labels and spec as a whole where the message has them. */
export async function updateMachine(
  dependencies: InventoryDependencies,
  description: MachineDescription,
  mask: readonly string[] | null,
  acting: Acting,
): Promise<Machine> {
  const machineId = checkMachineId(description.machineId, 'machine.machine_id');
  const paths = mask === null || mask.length === 0 ? impliedMask(description) : mask;
  for (const path of paths) checkPath(path);
  const updated = await replace(dependencies, machineId, acting, (machine) => {
    const described = masked(machine, description, paths);
    const next = namesProvider(description, paths) ? described : followingLabel(machine, described);
    return checked(dependencies, next, dependencies.defaultProvider, machine.spec.mac_addresses);
  });
  if (!updated) throw machineNotFound(machineId);
  return updated;
}

const HARDWARE_TAKEN: readonly string[] = ['MAC_ADDRESS_TAKEN', 'BMC_ENDPOINT_TAKEN', 'SSH_ENDPOINT_TAKEN'];

/** A refusal that names another machine says nothing about it where it is outside of the scope. */
async function hidingForeign<T>(
  { database }: InventoryDependencies,
  machineId: string,
  scope: Scope | null,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (scope === null || !(error instanceof Fault) || !HARDWARE_TAKEN.includes(error.reason)) throw error;
    const [holder] = await findMachines(database, [error.metadata.machine_id ?? ''], scope);
    throw holder ? error : machineOutOfScope(machineId, scope);
  }
}

function namesProvider({ spec }: MachineDescription, paths: readonly string[]): boolean {
  return paths.includes('spec.provider') || (paths.includes('spec') && (spec?.provider ?? '') !== '');
}

/** A provider that came from the label follows the label to another provider, and stays when the label is removed. */
function followingLabel(before: Machine, next: MachineInput): MachineInput {
  const [was, is] = [labelledProvider(before.labels), labelledProvider(next.labels)];
  if (was !== before.spec.provider || is === was || is === '') return next;
  return { ...next, spec: { ...next.spec, provider: '' } };
}

function impliedMask(description: MachineDescription): string[] {
  const paths: string[] = [];
  if (Object.keys(description.labels).length > 0) paths.push('labels');
  if (description.spec) paths.push('spec');
  return paths;
}

function checkPath(path: string): void {
  const known = WHOLE_PATHS.includes(path) || fieldOf(path) !== null || /^labels\../.test(path);
  if (known) return;
  const valid = [...WHOLE_PATHS, 'labels.<name>', ...SPEC_FIELD_NAMES.map((name) => SPEC + name)].join(', ');
  throw invalidField(
    'update_mask',
    `${JSON.stringify(path.slice(0, 80))} can't be updated; these can: ${valid}`,
  );
}

/** Null when the path names no field of the spec. */
function fieldOf(path: string): SpecFieldName | null {
  if (!path.startsWith(SPEC)) return null;
  return SPEC_FIELD_NAMES.find((name) => name === path.slice(SPEC.length)) ?? null;
}

function masked(machine: Machine, description: MachineDescription, paths: readonly string[]): MachineInput {
  const described = specOfMessage(description.spec);
  let { labels, spec } = machine;
  for (const path of paths) {
    const field = fieldOf(path);
    const group = SPEC_GROUP_NAMES.find((name) => path === SPEC + name);
    if (path === 'labels') labels = description.labels;
    // A spec without a provider does not change the machine's provider.
    else if (path === 'spec') spec = { ...described, provider: described.provider || spec.provider };
    else if (group) spec = { ...spec, [group]: described[group] };
    else if (field) spec = withSpecValue(spec, field, specValue(described, field));
    else labels = withLabel(labels, path.slice('labels.'.length), description.labels);
  }
  return { machineId: machine.machineId, labels, spec };
}

/** A label in the mask that the message does not have is removed. */
function withLabel(labels: Labels, name: string, described: Labels): Labels {
  const { [name]: _removed, ...others } = labels;
  const value = Object.hasOwn(described, name) ? described[name] : undefined;
  return value === undefined ? others : { ...others, [name]: value };
}

/** `otherwise` is the provider when neither spec nor label names one. */
function checked(
  dependencies: Pick<InventoryDependencies, 'providers'>,
  input: MachineInput,
  otherwise: string,
  storedMacs: readonly string[] = [],
): MachineInput {
  const labels = checkLabels(input.labels);
  const configured = new Set(dependencies.providers.keys());
  const provider = chosenProvider({ spec: input.spec, labels, otherwise }, configured);
  const spec = checkSpec({ ...input.spec, provider }, { providers: configured, storedMacs });
  const problem = dependencies.providers.get(spec.provider)?.checkLabels?.(labels) ?? null;
  if (problem) throw invalidField(`labels.${problem.label}`, problem.problem);
  return { machineId: input.machineId, labels, spec };
}

/** A machine of which only the provider is known. */
export function bareMachine(
  dependencies: Pick<InventoryDependencies, 'providers'>,
  machineId: string,
  provider: string,
): MachineInput {
  return checked(dependencies, { machineId, labels: {}, spec: { ...EMPTY_SPEC, provider } }, provider);
}

/** Null: there is no such machine in the scope. */
async function replace(
  dependencies: InventoryDependencies,
  machineId: string,
  { actor, scope }: Acting,
  next: (machine: Machine) => MachineInput,
  comment = '',
): Promise<Machine | null> {
  const change = (before: Machine) => {
    if (before.service === 'deleted') throw machineDeleted(machineId);
    const { labels, spec } = next(before);
    checkUnderOperation(dependencies, before, { labels, spec });
    if (isDeepStrictEqual([labels, spec], [before.labels, before.spec]))
      return { machine: before, events: [] };
    return {
      machine: { ...before, labels, spec },
      events: [
        {
          ...machineEvent(
            machineId,
            'registered',
            'updated',
            actor,
            machineChanges(before, { labels, spec }),
          ),
          comment,
        },
      ],
    };
  };
  return hidingForeign(dependencies, machineId, scope, () =>
    changeMachine(dependencies.database, { machineId, scope }, change),
  );
}

/** Called with the machine locked, so that no operation starts between this and the write. */
function checkUnderOperation(
  { providers }: Pick<InventoryDependencies, 'providers'>,
  before: Machine,
  after: Pick<MachineInput, 'labels' | 'spec'>,
): void {
  const { machineId, activeOperationId } = before;
  if (activeOperationId === null) return;
  const provider = providers.get(before.spec.provider);
  const changes = fixedChanges(before, after, (label) => provider?.readsLabel?.(label) ?? false);
  if (changes.length > 0) throw changedUnderOperation(machineId, activeOperationId, changes);
}

/** The certificate that the machine's BMC must have from now on. */
export async function pinBmcCertificate(
  dependencies: InventoryDependencies,
  {
    machineId,
    sha256,
    reason,
  }: { readonly machineId: string; readonly sha256: string; readonly reason: string },
  acting: Acting,
): Promise<Machine> {
  const pin = ({ labels, spec }: Machine) => ({
    machineId,
    labels,
    spec: { ...spec, bmc_certificate_sha256: sha256 },
  });
  const updated = await replace(dependencies, machineId, acting, pin, reason);
  if (!updated) throw machineNotFound(machineId);
  return updated;
}

/** A removed machine id is never used again; the hardware can come back as another machine. */
export function machineDeleted(machineId: string): Fault {
  return new Fault('MACHINE_DELETED', {
    message: `${machineId} was removed for good; register the hardware under another id`,
    metadata: { machine_id: machineId },
    violations: [{ subject: `machines/${machineId}`, description: 'was removed' }],
  });
}

/** What an operator may change of a machine. */
function described({ labels, spec }: Pick<MachineInput, 'labels' | 'spec'>) {
  return { labels, spec };
}

export function machineChanges(
  before: Pick<MachineInput, 'labels' | 'spec'>,
  after: Pick<MachineInput, 'labels' | 'spec'>,
): FieldChange[] {
  return changesBetween(described(before), described(after));
}

export function machineEvent(
  machineId: string,
  from: string,
  to: string,
  actor: Actor,
  changes: readonly FieldChange[] = [],
): NewEvent {
  return {
    kind: 'machine',
    subject: machineId,
    from,
    to,
    actor,
    comment: '',
    metadata: {},
    machineId,
    operationId: null,
    snapshot: null,
    changes,
  };
}
