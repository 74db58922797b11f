import { describe, expect, it } from 'vitest';
import { EMPTY_SPEC } from '../../../../src/domain/machine/spec/machine-spec.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from '../../../../src/domain/machine/spec/spec-field.ts';
import {
  changedPaths,
  concurrentChanges,
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
  it.each(SPEC_FIELD_NAMES)('takes spec.%s from its text field to its path in the mask', (name) => {
    const text = SPEC_FIELDS[name].type === 'list' ? '02:00:00:00:00:07, 02:00:00:00:00:08' : 'typed';
    const edited = descriptionOf(
      draft({ [name]: text }, [
        ['rack', 'r1'],
        ['row', 'a'],
      ]),
    );
    expect(changedPaths(BASE, edited)).toEqual([`spec.${name}`]);
    expect(draftOf(edited).spec[name]).toBe(text);
    const faulty = draft({ [name]: SPEC_FIELDS[name].type === 'list' ? 'x' : '\u0007' });
    // Any provider will do here: only the server knows which are configured.
    expect([...faultsOf(faulty).keys()]).toEqual(name === 'provider' ? [] : [`spec.${name}`]);
  });

  it('without edits changes nothing', () => {
    expect(changedPaths(BASE, descriptionOf(draftOf(BASE)))).toEqual([]);
  });

  it('sends exactly the changed, set, added and removed paths', () => {
    const edited = { spec: { ...BASE.spec, bmc_endpoint: 'bmc' }, labels: { rack: 'r2', zone: 'z' } };
    expect(changedPaths(BASE, edited)).toEqual([
      'spec.bmc_endpoint',
      'labels.rack',
      'labels.row',
      'labels.zone',
    ]);
  });

  it('accepts addresses separated by commas or spaces, and another spelling is not a change', () => {
    const macs = descriptionOf(draft({ mac_addresses: ' 02-00-00-00-00-01,\n02:00:00:00:00:02 ' })).spec
      .mac_addresses;
    expect(macs).toEqual(['02-00-00-00-00-01', '02:00:00:00:00:02']);
    expect(changedPaths(BASE, withSpec({ mac_addresses: ['02-00-00-00-00-01'] }))).toEqual([]);
  });

  it('ignores an empty row', () => {
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

describe('what the server would reject', () => {
  const faults = (edited: Draft) => Object.fromEntries(faultsOf(edited));

  it('is shown at its field', () => {
    const found = faults(
      draft({ ssh_endpoint: 'a b', bmc_endpoint: 'https://me:secret@bmc', mac_addresses: 'x' }),
    );
    expect(Object.keys(found)).toEqual(['spec.ssh_endpoint', 'spec.bmc_endpoint', 'spec.mac_addresses']);
    expect(found['spec.bmc_endpoint']).toContain('credentials');
  });

  it('is shown at its label, including duplicates', () => {
    const found = faults(
      draft({}, [
        ['bad name', 'x'],
        ['a', '1'],
        [' a', '2'],
        ['', 'value'],
      ]),
    );
    expect(Object.keys(found)).toEqual(['labels.bad name', 'labels.a', 'labels.']);
    expect(found['labels.a']).toBe('is a duplicate');
  });

  it('is shown for all labels when they are too large together', () => {
    const many = Array.from({ length: 20 }, (_, n): [string, string] => [`l${n}`, 'x'.repeat(4_000)]);
    expect(faults(draft({}, many)).labels).toContain('bytes');
  });

  it('is nothing for a valid draft', () => {
    expect(faults(draftOf(BASE))).toEqual({});
  });

  it('is shown at the field that the server names', () => {
    expect(faultPath('spec.mac_addresses[3]')).toBe('spec.mac_addresses');
    expect(faultPath('labels.fake/step-ms')).toBe('labels.fake/step-ms');
  });
});

describe('a machine that changes during an edit', () => {
  const current = withLabels({ rack: 'r9', row: 'a', owner: 'x' });

  it('has its changes listed by path, with whether saving overwrites them', () => {
    expect(concurrentChanges(BASE, current, withLabels({ rack: 'r2', row: 'a' }))).toEqual([
      { path: 'labels.rack', before: 'r1', now: 'r9', overwritten: true },
      { path: 'labels.owner', before: undefined, now: 'x', overwritten: false },
    ]);
  });

  it('is not a conflict where both values are the same', () => {
    expect(concurrentChanges(BASE, current, current).map(({ overwritten }) => overwritten)).toEqual([
      false,
      false,
    ]);
  });

  it('can be accepted, and keeps the other edits', () => {
    const edited = { spec: { ...BASE.spec, provider: 'generic' }, labels: { rack: 'r2', zone: 'z' } };
    expect(rebase(BASE, current, edited)).toEqual({
      spec: { ...BASE.spec, provider: 'generic' },
      labels: { rack: 'r9', owner: 'x', zone: 'z' },
    });
  });
});
