import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { ageText, durationText, parseDuration } from './time-text.ts';

describe('a duration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['30d', 30 * 86_400_000],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '5', 'm', '-5m', '5 m', '5x', '1e3s', 'Infinity', '5m!'])('%j is refused', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it.each([
    [0, '0.0s'],
    [412, '0.4s'],
    [999, '1.0s'],
    [12_900, '12s'],
    [272_000, '4m 32s'],
    [3_900_000, '1h 5m'],
    [-5, '0.0s'],
  ])('of %i ms reads %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

describe('an age', () => {
  it.each([
    [5_000, '5s'],
    [180_000, '3m'],
    [4 * 3_600_000, '4h'],
    [47 * 3_600_000, '47h'],
    [72 * 3_600_000, '3d'],
    [-1, '0s'],
  ])('of %i ms reads %s', (ms, text) => {
    expect(ageText(timestampFromMs(1_000_000), 1_000_000 + ms)).toBe(text);
  });

  it('of what never was is nothing', () => {
    expect(ageText(undefined, 0)).toBe('');
  });
});
