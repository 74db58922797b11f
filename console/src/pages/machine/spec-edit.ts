/**
 * Editing what clients say of a machine. Only what was changed is sent, by the paths of the update mask, so two people
 * who change different things do not undo each other; what changed under the editor is told, path by path.
 */
import { Fault } from '../../../../src/domain/fault.ts';
import type { Labels, MachineSpec } from '../../../../src/domain/machine.ts';
import { checkLabels, checkSpec } from '../../../../src/domain/machine-input.ts';

export interface Description {
  readonly spec: MachineSpec;
  readonly labels: Labels;
}

export interface LabelRow {
  /** Stays the same while the name is typed. */
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

/** As it is typed. */
export interface Draft {
  readonly spec: Readonly<Record<keyof MachineSpec, string>>;
  readonly labels: readonly LabelRow[];
}

export const SPEC_FIELDS = {
  ssh_endpoint: { title: 'SSH endpoint', hint: 'host, host:port or [IPv6]:port' },
  bmc_endpoint: { title: 'BMC endpoint', hint: 'host, host:port or an http(s) URL, never with credentials' },
  target_cluster_ref: { title: 'Target cluster', hint: 'the cluster that it joins' },
  mac_addresses: { title: 'MAC addresses', hint: 'with commas or spaces between them' },
  provider: { title: 'Provider', hint: 'a provider of the server’s configuration' },
} as const satisfies Record<keyof MachineSpec, { title: string; hint: string }>;

export const SPEC_NAMES = Object.keys(SPEC_FIELDS) as (keyof MachineSpec)[];

export function draftOf({ spec, labels }: Description): Draft {
  return {
    spec: { ...spec, mac_addresses: spec.mac_addresses.join(', ') },
    labels: Object.entries(labels)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, value], id) => ({ id, name, value })),
  };
}

export function descriptionOf(draft: Draft): Description {
  const { spec, labels } = draft;
  return {
    spec: {
      ssh_endpoint: spec.ssh_endpoint.trim(),
      bmc_endpoint: spec.bmc_endpoint.trim(),
      target_cluster_ref: spec.target_cluster_ref.trim(),
      mac_addresses: spec.mac_addresses.split(/[\s,]+/).filter((mac) => mac !== ''),
      provider: spec.provider.trim(),
    },
    // A row that nobody has begun to fill in is no label.
    labels: Object.fromEntries(
      labels
        .filter(({ name, value }) => name.trim() !== '' || value !== '')
        .map(({ name, value }) => [name.trim(), value]),
    ),
  };
}

/** Every path with its value as text; what is not there has none. */
function flat({ spec, labels }: Description): Map<string, string> {
  const paths = SPEC_NAMES.map((name): [string, string] => [
    `spec.${name}`,
    name === 'mac_addresses' ? spec.mac_addresses.map(normalMac).join(', ') : spec[name],
  ]);
  return new Map([
    ...paths,
    ...Object.entries(labels).map(([name, value]): [string, string] => [`labels.${name}`, value]),
  ]);
}

const normalMac = (mac: string) => mac.toLowerCase().replaceAll('-', ':');

/** The mask: what differs. */
export function changedPaths(before: Description, after: Description): string[] {
  const [old, now] = [flat(before), flat(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((path) => old.get(path) !== now.get(path));
}

export interface ChangeUnder {
  readonly path: string;
  /** Undefined: it was not there, or is not any more. */
  readonly before: string | undefined;
  readonly now: string | undefined;
  /** The editor has changed it too, to something else: saving would overwrite it. */
  readonly overwritten: boolean;
}

/** What others changed since the editor was opened. */
export function changesUnder(base: Description, current: Description, edited: Description): ChangeUnder[] {
  const [before, now, mine] = [flat(base), flat(current), flat(edited)];
  return changedPaths(base, current).map((path) => ({
    path,
    before: before.get(path),
    now: now.get(path),
    overwritten: mine.get(path) !== before.get(path) && mine.get(path) !== now.get(path),
  }));
}

/** Takes over what others changed, and keeps what was edited besides. */
export function rebase(base: Description, current: Description, edited: Description): Description {
  const paths = changedPaths(base, edited);
  const theirs = new Set(changedPaths(base, current));
  const mine = paths.filter((path) => !theirs.has(path));
  const labels: Record<string, string> = { ...current.labels };
  const spec: Record<keyof MachineSpec, string | readonly string[]> = { ...current.spec };
  for (const path of mine) {
    const name = path.slice(path.indexOf('.') + 1);
    const value = edited.labels[name];
    if (path.startsWith('spec.')) {
      const field = name as keyof MachineSpec;
      spec[field] = edited.spec[field];
    } else if (value === undefined) delete labels[name];
    else labels[name] = value;
  }
  return { spec: spec as MachineSpec, labels };
}

/** By path, what the server would refuse. It knows more than this, and decides again. */
export function faultsOf(draft: Draft): Map<string, string> {
  const { spec } = descriptionOf(draft);
  const faults = new Map<string, string>();
  const empty = { ssh_endpoint: '', bmc_endpoint: '', target_cluster_ref: '', mac_addresses: [] };
  for (const name of SPEC_NAMES) {
    const alone: MachineSpec = { ...empty, provider: spec.provider, [name]: spec[name] };
    tell(faults, `spec.${name}`, () => checkSpec(alone, new Set([spec.provider])));
  }
  const named = draft.labels.filter(({ name, value }) => name.trim() !== '' || value !== '');
  for (const { name, value } of named) {
    const path = `labels.${name.trim()}`;
    if (named.filter((row) => row.name.trim() === name.trim()).length > 1) faults.set(path, 'is there twice');
    else tell(faults, path, () => checkLabels({ [name.trim()]: value }));
  }
  if (faults.size === 0) tell(faults, 'labels', () => checkLabels(descriptionOf(draft).labels));
  return faults;
}

function tell(faults: Map<string, string>, path: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.set(path, error.violations.map(({ description }) => description).join('; '));
  }
}

/** Where the server's own answer belongs: a field of a list or message belongs to its field. */
export function faultPath(field: string): string {
  return field.replace(/^machine\./, '').replace(/\[\d+\]$/, '');
}
