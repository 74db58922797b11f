import { describe, expect, it } from 'vitest';
import { EMPTY_SPEC } from '../../../../src/domain/machine/machine-spec.ts';
import {
  changedPaths,
  changesUnder,
  type Description,
  type Draft,
  descriptionOf,
  draftOf,
  faultPath,
  faultsOf,
  rebase,
} from './spec-edit.ts';

const BASE: Description = {
  spec: {
    ...EMPTY_SPEC,
    ssh_endpoint: '10.0.0.1:22',
    mac_addresses: ['02:00:00:00:00:01'],
    provider: 'fake',
  },
  labels: { rack: 'r1', row: 'a' },
};
const withSpec = (spec: Partial<Description['spec']>): Description => ({
  ...BASE,
  spec: { ...BASE.spec, ...spec },
});
const withLabels = (labels: Description['labels']): Description => ({ ...BASE, labels });
const draft = (spec: Partial<Draft['spec']>, labels: readonly [string, string][] = []): Draft => ({
  spec: { ...draftOf(BASE).spec, ...spec },
  labels: labels.map(([name, value], id) => ({ id, name, value })),
});

describe('a draft', () => {
  it('that nobody touched changes nothing', () => {
    expect(changedPaths(BASE, descriptionOf(draftOf(BASE)))).toEqual([]);
  });

  it('sends exactly what was changed, set, added and removed', () => {
    const edited = { spec: { ...BASE.spec, bmc_endpoint: 'bmc' }, labels: { rack: 'r2', zone: 'z' } };
    expect(changedPaths(BASE, edited)).toEqual([
      'spec.bmc_endpoint',
      'labels.rack',
      'labels.row',
      'labels.zone',
    ]);
  });

  it('takes addresses with commas or spaces, and writing one differently is no change', () => {
    const macs = descriptionOf(draft({ mac_addresses: ' 02-00-00-00-00-01,\n02:00:00:00:00:02 ' })).spec
      .mac_addresses;
    expect(macs).toEqual(['02-00-00-00-00-01', '02:00:00:00:00:02']);
    expect(changedPaths(BASE, withSpec({ mac_addresses: ['02-00-00-00-00-01'] }))).toEqual([]);
  });

  it('leaves out a row that nobody began to fill in', () => {
    expect(
      descriptionOf(
        draft({}, [
          ['', ''],
          ['a', ''],
        ]),
      ).labels,
    ).toEqual({ a: '' });
  });
});

describe('what the server would refuse', () => {
  const faults = (edited: Draft) => Object.fromEntries(faultsOf(edited));

  it('is told at its field, each field by itself', () => {
    const told = faults(
      draft({ ssh_endpoint: 'a b', bmc_endpoint: 'https://me:secret@bmc', mac_addresses: 'x' }),
    );
    expect(Object.keys(told)).toEqual(['spec.ssh_endpoint', 'spec.bmc_endpoint', 'spec.mac_addresses']);
    expect(told['spec.bmc_endpoint']).toContain('credentials');
  });

  it('is told at its label, also that it is there twice', () => {
    const told = faults(
      draft({}, [
        ['bad name', 'x'],
        ['a', '1'],
        [' a', '2'],
        ['', 'value'],
      ]),
    );
    expect(Object.keys(told)).toEqual(['labels.bad name', 'labels.a', 'labels.']);
    expect(told['labels.a']).toBe('is there twice');
  });

  it('is told of all labels together when they are too many', () => {
    const many = Array.from({ length: 20 }, (_, n): [string, string] => [`l${n}`, 'x'.repeat(4_000)]);
    expect(faults(draft({}, many)).labels).toContain('bytes');
  });

  it('is nothing where all is well', () => {
    expect(faults(draftOf(BASE))).toEqual({});
  });

  it('is put where the field is that the server names', () => {
    expect(faultPath('spec.mac_addresses[3]')).toBe('spec.mac_addresses');
    expect(faultPath('labels.fake/step-ms')).toBe('labels.fake/step-ms');
  });
});

describe('a machine that changes under the editor', () => {
  const current = withLabels({ rack: 'r9', row: 'a', owner: 'x' });

  it('is told path by path, and whether saving would overwrite it', () => {
    expect(changesUnder(BASE, current, withLabels({ rack: 'r2', row: 'a' }))).toEqual([
      { path: 'labels.rack', before: 'r1', now: 'r9', overwritten: true },
      { path: 'labels.owner', before: undefined, now: 'x', overwritten: false },
    ]);
  });

  it('is no conflict where both say the same', () => {
    expect(changesUnder(BASE, current, current).map(({ overwritten }) => overwritten)).toEqual([
      false,
      false,
    ]);
  });

  it('can be taken over; what others did not touch stays edited', () => {
    const edited = { spec: { ...BASE.spec, provider: 'generic' }, labels: { rack: 'r2', zone: 'z' } };
    expect(rebase(BASE, current, edited)).toEqual({
      spec: { ...BASE.spec, provider: 'generic' },
      labels: { rack: 'r9', owner: 'x', zone: 'z' },
    });
  });
});
