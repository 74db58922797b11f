import { expect, it } from 'vitest';
import { until } from './until.ts';

it('returns the first value that is wanted', async () => {
  let count = 0;
  expect(
    await until(
      () => (count += 1),
      (value) => value > 3,
    ),
  ).toBe(4);
  expect(await until(async () => ['', 'there'][count++ % 2])).toBe('there');
});

it('fails after the limit with the condition and the last value', async () => {
  const last = { state: 'waiting', bytes: 7n };
  const waiting = until(
    () => last,
    ({ state }) => state === 'done',
    30,
  );
  await expect(waiting).rejects.toThrow(
    /not within 30 ms: .*"done".*last value: \{"state":"waiting","bytes":"7"\}/s,
  );
});
