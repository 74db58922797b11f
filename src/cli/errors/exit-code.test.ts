import { describe, expect, it } from 'vitest';
import { EXIT_CODES, type Exit, worstExit } from './exit-code.ts';

describe('the exit code of many results', () => {
  it('is that of the one result when all agree', () => {
    for (const exit of Object.keys(EXIT_CODES) as Exit[]) expect(worstExit([exit, exit])).toBe(exit);
  });

  it('is ok only when everything is', () => {
    for (const exit of Object.keys(EXIT_CODES) as Exit[]) expect(worstExit(['ok', exit])).toBe(exit);
    expect(worstExit([])).toBe('ok');
  });

  it('prefers a failure to a refusal, and a refusal to what still runs', () => {
    expect(worstExit(['stillRunning', 'precondition', 'failed', 'canceled'])).toBe('failed');
    expect(worstExit(['stillRunning', 'precondition', 'canceled'])).toBe('precondition');
    expect(worstExit(['stillRunning', 'canceled'])).toBe('canceled');
  });
});
