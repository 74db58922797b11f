import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filterFault, withPlainWords } from './filter-text.ts';

describe('a filter as text', () => {
  it("has the error and its position, with the server's message", () => {
    expect(filterFault('phase=READY AND rock=r1')).toEqual({
      message: expect.stringContaining("filter: unknown field 'rock' at position 17"),
      offset: 16,
    });
    expect(filterFault('phase=READY AND labels.rack=r1')).toBeNull();
    expect(filterFault('')).toBeNull();
  });

  it.each([
    ['web-1', 'machine_id:web-1'],
    ['  rack7 web ', 'machine_id:rack7 AND machine_id:web'],
    ['web-*', 'machine_id=web-*'],
    ['phase=READY', 'phase=READY'],
    ['this OR that', 'this OR that'],
    ['(web)', '(web)'],
    ['', ''],
  ])('takes the plain words %j for %j', (typed, filter) => {
    expect(withPlainWords(typed)).toBe(filter);
  });

  it('turns plain words into filters that the server accepts', () => {
    const word = fc.stringMatching(/^[\w.*-]{1,8}$/).filter((text) => !/^(AND|OR|NOT)$/.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), (words) => {
        expect(filterFault(withPlainWords(words.join(' ')))).toBeNull();
      }),
    );
  });
});
