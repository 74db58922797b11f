import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FilterNode } from './ast.ts';
import { checkFilter } from './check.ts';
import { parseFilter } from './parse.ts';
import { filterPredicate } from './predicate.ts';
import {
  filterOf,
  type Sample,
  sampleRestriction,
  sampleRow,
  sampleSchema,
} from './sample-filter.fixture.ts';

const machine: Sample = {
  name: 'web-7.example',
  phase: 'READY',
  seenAt: new Date('2026-01-01T12:00:00.000Z'),
  microseconds: 0,
  attempts: 2,
  ready: false,
  pools: ['edge', 'gpu-a100'],
  labels: { rack: 'r42', 'a b': 'x' },
  conditions: { RMA: true },
};

const blank: Sample = {
  name: null,
  phase: null,
  seenAt: null,
  microseconds: 0,
  attempts: null,
  ready: null,
  pools: null,
  labels: {},
  conditions: {},
};

const holds = (text: string, row: Sample) =>
  filterPredicate(checkFilter(parseFilter(text), sampleSchema))(row);

describe('filterPredicate', () => {
  it.each([
    '',
    'name=web-7.example',
    'name=web-*',
    'name=*.example',
    'name=w*7*e',
    'name!=db-*',
    'name:7.ex',
    'name:*',
    'name>web-6',
    'phase=ready',
    'phase!=maintenance',
    'phase:READY',
    'status.seen_at>2026-01-01T11:59:59Z',
    'status.seen_at=2026-01-01T13:00:00+01:00',
    'attempts<=2 attempts>1 attempts!=3',
    'ready=false',
    'pools:edge',
    'pools:gpu-*',
    'labels.rack=r42',
    'labels.rack:r42',
    'labels.rack:42',
    'labels.rack:"4*"',
    'name!=""',
    'labels."a b":*',
    'labels:rack',
    'labels.rack>r4',
    'conditions.RMA=true',
    'conditions.RMA:*',
    'name=other OR attempts=2',
    '-conditions.Degraded=true',
  ])('%s is true of the machine', (text) => {
    expect(holds(text, machine)).toBe(true);
    expect(holds(text === '' ? '' : `NOT (${text})`, machine)).toBe(text === '');
  });

  it.each([
    'name=web-7',
    'name=WEB-*',
    'name=web-7*7.example',
    'pools:gpu',
    'labels.rack:r43',
    'name=""',
    'labels.constructor:*',
    'labels.__proto__:*',
    'labels:constructor',
    'conditions.Degraded=false',
    'conditions.Degraded:*',
    'ready=true',
  ])('%s is false of the machine', (text) => {
    expect(holds(text, machine)).toBe(false);
  });

  it.each([
    'name=a',
    'name!=""',
    'name=*',
    'name:a',
    'name<a',
    'name>a',
    'name:""',
    'phase=ready',
    'phase:*',
    'status.seen_at>0001-01-01T00:00:00Z',
    'attempts=0',
    'attempts<1',
    'attempts>-1',
    'ready=true',
    'ready=false',
    'ready:*',
    'pools:a',
    'pools:*',
    'labels.rack=""',
    'labels.rack:*',
    'labels.rack<z',
    'labels:*',
    'conditions.RMA=false',
    'conditions.RMA:*',
  ])('%s is false of what is absent, and its negation is true', (text) => {
    expect(holds(text, blank)).toBe(false);
    expect(holds(`NOT ${text}`, blank)).toBe(true);
  });

  it('finds that what is absent differs from everything', () => {
    expect(
      holds('name!=a phase!=ready attempts!=0 ready!=true labels.rack!=r1 conditions.RMA!=true', blank),
    ).toBe(true);
    expect(holds('name!=*', blank)).toBe(true);
    expect(holds('name!=*', machine)).toBe(false);
  });

  it('finds that what is absent is empty', () => {
    expect(holds('name=""', blank)).toBe(true);
    expect(holds('name=""', { ...blank, name: '' })).toBe(true);
    expect(holds('name!=""', { ...blank, name: '' })).toBe(false);
  });

  it('orders text by code point', () => {
    expect(holds('name>"\uffee"', { ...blank, name: '😀' })).toBe(true);
  });
});

describe('the laws of logic', () => {
  const filter = filterOf(sampleRestriction);
  const evaluate = (node: FilterNode, row: Sample) => filterPredicate(checkFilter(node, sampleSchema))(row);
  const not = (term: FilterNode): FilterNode => ({ kind: 'not', term });
  const and = (...terms: FilterNode[]): FilterNode => ({ kind: 'and', terms });
  const or = (...terms: FilterNode[]): FilterNode => ({ kind: 'or', terms });

  const equivalences: Record<
    string,
    (a: FilterNode, b: FilterNode, c: FilterNode) => [FilterNode, FilterNode]
  > = {
    'NOT NOT a is a': (a) => [not(not(a)), a],
    'NOT (a AND b) is NOT a OR NOT b': (a, b) => [not(and(a, b)), or(not(a), not(b))],
    'NOT (a OR b) is NOT a AND NOT b': (a, b) => [not(or(a, b)), and(not(a), not(b))],
    'a AND (b OR c) is (a AND b) OR (a AND c)': (a, b, c) => [and(a, or(b, c)), or(and(a, b), and(a, c))],
    'a OR NOT a is everything': (a) => [or(a, not(a)), and()],
    'a AND NOT a is nothing': (a) => [and(a, not(a)), or()],
  };

  it.each(Object.entries(equivalences))('%s', (_, sidesOf) => {
    fc.assert(
      fc.property(filter, filter, filter, sampleRow, (a, b, c, row) => {
        const [left, right] = sidesOf(a, b, c);
        expect(evaluate(left, row)).toBe(evaluate(right, row));
      }),
      { numRuns: 300 },
    );
  });
});
