import { describe, expect, it } from 'vitest';
import { parseProcStat, startCpuMeter, utilisation } from './cpu-meter.ts';

const never = new AbortController().signal;

describe('CPU utilisation', () => {
  it('counts waiting for disks as idle, and guests once', () => {
    const text = 'cpu  100 10 50 800 30 3 4 3 60 5\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 1\n';
    expect(parseProcStat(text)).toEqual({ busy: 170, total: 1000 });
  });

  it('measures nothing from a file of another format', () => {
    expect(parseProcStat('')).toBeUndefined();
    expect(parseProcStat('cpu  1 2 x 4\n')).toBeUndefined();
  });

  it('is the busy part of what passed', () => {
    expect(utilisation({ busy: 100, total: 1000 }, { busy: 131, total: 1200 })).toBe(15.5);
  });

  it('stays within bounds when counters step back, and is unknown when no time passed', () => {
    expect(utilisation({ busy: 100, total: 1000 }, { busy: 90, total: 1100 })).toBe(0);
    expect(utilisation({ busy: 100, total: 1000 }, { busy: 300, total: 1100 })).toBe(100);
    expect(utilisation({ busy: 100, total: 1000 }, { busy: 100, total: 1000 })).toBeUndefined();
    expect(utilisation({ busy: 100, total: 1000 }, { busy: 1, total: 2 })).toBeUndefined();
  });

  it('is measured from reading to reading', async () => {
    const times = [
      { busy: 0, total: 0 },
      { busy: 50, total: 100 },
      { busy: 60, total: 200 },
    ];
    const meter = await startCpuMeter(async () => times.shift() ?? { busy: 0, total: 0 });
    expect(await meter.read(never)).toBe(50);
    expect(await meter.read(never)).toBe(10);
  });
});
