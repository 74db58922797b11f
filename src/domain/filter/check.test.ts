import { describe, expect, it } from 'vitest';
import { checkFilter } from './check.ts';
import { parseFilter } from './parse.ts';
import { sampleSchema } from './sample-filter.fixture.ts';

const check = (text: string) => checkFilter(parseFilter(text), sampleSchema);

describe('checkFilter', () => {
  it.each([
    [
      'ready=true rack=r1',
      "unknown field 'rack' at position 12, expected one of name, phase, status.seen_at, attempts, ready, pools, labels.<key>, conditions.Degraded, conditions.RMA",
    ],
    ['name.first=x', "unknown field 'name.first' at position 1, expected one of name, "],
    ['constructor=x', "unknown field 'constructor' at position 1, expected one of name, "],
    ['conditions=true', "unknown field 'conditions' at position 1, expected one of name, "],
    ['nmae=x', "unknown field 'nmae' at position 1, did you mean name? Expected one of name, phase, "],
    [
      'seen_at>x',
      "unknown field 'seen_at' at position 1, did you mean status.seen_at? Expected one of name, ",
    ],
    [
      'label.rack=x',
      "unknown field 'label.rack' at position 1, did you mean labels.rack? Expected one of name",
    ],
    [
      'conditions.Degarded=true',
      "unknown key 'Degarded' at position 1, did you mean Degraded? Expected one of",
    ],
    [
      'phase=maint',
      "'maint' is no value for 'phase' at position 1, did you mean Maintenance? Expected one of",
    ],
    ['phase=REDY', "'REDY' is no value for 'phase' at position 1, did you mean READY? Expected one of FACT"],
    ['conditions.Happy=true', "unknown key 'Happy' at position 1, expected one of Degraded, RMA"],
    [
      'phase=DONE',
      "'DONE' is no value for 'phase' at position 1, expected one of FACTORY_READY, READY, Maintenance",
    ],
    [
      'phase=X*',
      "'X*' is no value for 'phase' at position 1, expected one of FACTORY_READY, READY, Maintenance",
    ],
    ['phase<READY', "'phase' can't be compared with '<' at position 1, expected one of = != :"],
    ['pools=a', "'pools' can't be compared with '=' at position 1, expected ':'"],
    ['labels=a', "'labels' can't be compared with '=' at position 1, expected ':'"],
    ['ready>false', "'ready' can't be compared with '>' at position 1, expected one of = != :"],
    [
      'conditions.RMA>false',
      "'conditions.RMA' can't be compared with '>' at position 1, expected one of = != :",
    ],
    ['ready=yes', "'yes' is no value for 'ready' at position 1, expected true or false"],
    ['conditions.RMA=yes', "'yes' is no value for 'conditions.RMA' at position 1, expected true or false"],
    ['attempts=1.5', "'1.5' is no value for 'attempts' at position 1, expected an integer"],
    ['attempts=1*', "'1*' is no value for 'attempts' at position 1, expected an integer"],
    ['attempts>*', "'*' is no value for 'attempts' at position 1, expected an integer"],
    [
      'attempts=9007199254740993',
      "'9007199254740993' is no value for 'attempts' at position 1, expected an integer",
    ],
    ['name>a*', "'a*' is no value for 'name' at position 1, expected a value without wildcards"],
    ['labels:ra*', "'ra*' is no value for 'labels' at position 1, expected a key without wildcards"],
  ])('refuses %s', (text, description) => {
    expect(() => check(text)).toThrow(`filter: ${description}`);
  });

  it.each([
    '2026-01-01',
    'yesterday',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
  ])('refuses %s as a time', (text) => {
    expect(() => check(`status.seen_at>"${text}"`)).toThrow('expected a time such as 2026-01-31T12:00:00Z');
  });

  it.each([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
    ['2024-02-29t12:00:00z', '2024-02-29T12:00:00.000Z'],
    ['2026-01-01T01:30:00.5+01:30', '2026-01-01T00:00:00.500Z'],
    ['2026-01-01T00:00:00.123987654Z', '2026-01-01T00:00:00.123Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('reads %s as a time', (text, expected) => {
    expect(check(`status.seen_at>=${text}`)).toMatchObject({ order: '>=', at: Date.parse(expected) });
  });

  it('takes an enum value in any case, and every value that a wildcard fits', () => {
    expect(check('phase=maintenance')).toMatchObject({ kind: 'enum', oneOf: ['Maintenance'] });
    expect(check('phase=*ready')).toMatchObject({ kind: 'enum', oneOf: ['FACTORY_READY', 'READY'] });
  });

  it('takes the rest of a path, dots included, for the key of a label', () => {
    expect(check('labels.example.com/rack=r1')).toMatchObject({ kind: 'entry', key: 'example.com/rack' });
    expect(check('labels."example.com/rack"=r1')).toMatchObject({ kind: 'entry', key: 'example.com/rack' });
  });

  it('takes a flag in any case', () => {
    expect(check('conditions.rma=TRUE')).toMatchObject({ kind: 'flag', key: 'RMA', value: true });
  });

  it('reads != as the negation of =', () => {
    expect(check('name!=a')).toEqual({ kind: 'not', term: check('name=a') });
  });
});
