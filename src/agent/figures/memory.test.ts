import { describe, expect, it } from 'vitest';
import { memoryUtilisation, parseMeminfo } from './memory.ts';

describe('memory', () => {
  it('is what programs can get, not what is unused', () => {
    const text = 'MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    577 kB\n';
    expect(parseMeminfo(text)).toEqual({ totalKiB: 1000, availableKiB: 577 });
    expect(memoryUtilisation({ totalKiB: 1000, availableKiB: 577 })).toBe(42.3);
  });

  it('is not read from a file of another form', () => {
    expect(parseMeminfo('MemTotal: 1000 kB\nMemFree: 10 kB\n')).toBeUndefined();
  });

  it('stays within bounds', () => {
    expect(memoryUtilisation({ totalKiB: 1000, availableKiB: 2000 })).toBe(0);
  });
});
