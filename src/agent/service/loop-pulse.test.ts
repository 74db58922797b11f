import { expect, it } from 'vitest';
import { createLoopPulse } from './loop-pulse.ts';

it('a loop is alive until it is half a minute later than it sources', () => {
  let now = 0;
  const pulse = createLoopPulse(() => now);
  pulse.expect(60_000);
  now = 90_000;
  expect(pulse.isAlive()).toBe(true);
  now = 90_001;
  expect(pulse.isAlive()).toBe(false);
  pulse.expect(0);
  expect(pulse.isAlive()).toBe(true);
});
