import { describe, expect, it } from 'vitest';
import { type Known, mostFrequent, suggest } from '../../../../src/client/filter-suggestions.ts';
import { filterFault } from './filter-text.ts';

const known: Known = {
  labelKeys: ['rack', 'example.com/row'],
  values: (field) => (field === 'labels.rack' ? ['r1', 'r 2'] : []),
  now: Date.UTC(2026, 0, 2),
};

/** The suggestions at the position of `|`. */
function offered(marked: string): string[] {
  const caret = marked.indexOf('|');
  return suggest(marked.replace('|', ''), caret, known).options.map(({ text }) => text);
}

/** The text after the first offer was taken. */
function taken(marked: string): string {
  const caret = marked.indexOf('|');
  const text = marked.replace('|', '');
  const { from, options } = suggest(text, caret, known);
  return `${text.slice(0, from)}${options[0]?.insert}${text.slice(caret)}`;
}

describe('suggestions', () => {
  it('start with fields, including labels', () => {
    expect(offered('|')).toContain('machine_id');
    expect(offered('lab|').slice(0, 3)).toEqual(['labels.rack', 'labels.example.com/row', 'labels']);
    expect(offered('rack|')).toEqual([
      'location.rack',
      'spec.location.rack',
      'effective_rack',
      'labels.rack',
    ]);
    expect(offered('cust|')).toEqual(expect.arrayContaining(['customer_id', 'spec.customer_id']));
    expect(offered('|')).not.toContain('AND');
  });

  it('list the comparators of a field', () => {
    expect(offered('phase|').slice(0, 3)).toEqual(['phase =', 'phase !=', 'phase :']);
    expect(offered('created_at |')).toContain('created_at >=');
    expect(offered('labels.rack|')).toContain('labels.rack =');
    expect(offered('conditions.RMA|')).toEqual(['conditions.RMA =', 'conditions.RMA !=', 'conditions.RMA :']);
    expect(offered('nothing |')).toEqual([]);
  });

  it('list a longer field besides the comparators of a shorter one', () => {
    expect(offered('service|')).toEqual(expect.arrayContaining(['service =', 'service_since']));
  });

  it('list the values of states, conditions, labels and times', () => {
    expect(offered('phase=|')).toEqual(['FACTORY_READY', 'READY', 'MAINTENANCE', '*']);
    expect(offered('phase=re|')).toEqual(['READY', 'FACTORY_READY']);
    expect(offered('conditions.RMA=|')).toEqual(['true', 'false', '*']);
    expect(offered('labels.rack=|')).toEqual(['r1', 'r 2', '*']);
    expect(offered('created_at>|')).toContain('2026-01-01T23:00:00.000Z');
    expect(offered('labels:|')).toEqual(['rack', 'example.com/row']);
  });

  it('rank the states that machines are in before the others', () => {
    const some = { ...known, values: (field: string) => (field === 'phase' ? ['MAINTENANCE'] : []) };
    const { options } = suggest('phase=', 'phase='.length, some);
    expect(options.map(({ text }) => text)).toEqual(['MAINTENANCE', 'FACTORY_READY', 'READY', '*']);
    expect(mostFrequent(['b', 'a', '', 'c', 'a', 'c'])).toEqual(['a', 'c', 'b']);
  });

  it('continue after a complete comparison, also inside brackets and after NOT', () => {
    expect(offered('phase=READY A|')).toContain('AND');
    expect(offered('phase=READY OR |')).toContain('phase');
    expect(offered('(NOT pha|')).toEqual(['phase']);
    expect(offered('phase=READY) AND (service=dra|')).toEqual(['draining']);
    expect(offered('-pres|')).toEqual(['presence']);
  });

  it('are empty for invalid text', () => {
    expect(offered('phase==|')).toEqual([]);
    expect(offered('phase=READY, |')).toEqual([]);
  });

  it('replace the typed text when accepted', () => {
    expect(taken('pha|')).toBe('phase');
    expect(taken('phase|')).toBe('phase=');
    expect(taken('phase=mai|')).toBe('phase=MAINTENANCE ');
    expect(taken('labels.rack="r |')).toBe('labels.rack="r 2" ');
    expect(taken('phase=re| AND x=1')).toBe('phase=READY  AND x=1');
  });

  it('result in filters that the server accepts', () => {
    for (const field of ['phase', 'labels.rack', 'created_at', 'conditions.RMA', 'labels', 'pool']) {
      for (const comparator of suggest(field, field.length, known).options) {
        const head = comparator.insert;
        if (!/[=:<>]$/.test(head)) continue;
        for (const value of suggest(head, head.length, known).options) {
          if (value.text === '*' && /[<>]/.test(head)) continue;
          expect(filterFault(`${head}${value.insert}`)).toBeNull();
        }
      }
    }
  });
});
