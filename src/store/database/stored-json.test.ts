import { describe, expect, it } from 'vitest';
import { toStoredJson } from './stored-json.ts';

describe('JSON for the database', () => {
  it('leaves ordinary text alone, escapes and emoji too', () => {
    const value = { text: 'a "quoted" \\u0000 tab\t 🙂 \u2028', list: [1, null, true] };
    expect(JSON.parse(toStoredJson(value))).toEqual(value);
  });

  it('replaces what jsonb refuses, wherever it is', () => {
    const value = { message: 'a\0b', deep: [{ half: 'x\ud83d' }], other: '\udc00y' };
    expect(JSON.parse(toStoredJson(value))).toEqual({
      message: 'a\ufffdb',
      deep: [{ half: 'x\ufffd' }],
      other: '\ufffdy',
    });
  });
});
