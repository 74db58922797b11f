import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readReport } from './report-input.ts';

const MAC = '52:54:00:00:00:01';
const FIELDS = [
  'ip_address',
  'hostname',
  'vendor',
  'model',
  'serial_number',
  'system_uuid',
  'arch',
  'boot_mode',
  'installation_progress',
  'installation_error',
  'erase',
  'anything',
] as const;

/** What PostgreSQL can't keep. */
const UNSTORABLE = /\0|\p{Cs}/u;

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) => [key, ...textsOf(entry)]);
}

describe('whatever the side fields say', () => {
  const strange = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.constantFrom(
      '\u0000',
      '\ud800',
      'a'.repeat(10_000),
      `${'a'.repeat(254)}😀`,
      Number.POSITIVE_INFINITY,
      -1,
      Number.NaN,
    ),
  );

  it('the status counts, and what is kept can be stored', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), fc.string({ unit: 'binary' })), strange),
        fc.constantFrom('started', 'progress', 'complete', 'failed', ' COMPLETE\n'),
        (side, installation_status) => {
          const report = readReport({ ...side, mac_address: MAC, installation_status });
          expect(report.mac_address).toBe(MAC);
          expect(report.installation_status).toBe(installation_status.trim().toLowerCase());
          const kept = textsOf(report);
          expect(kept.filter((text) => UNSTORABLE.test(text))).toEqual([]);
          expect(Math.max(...kept.map((text) => text.length))).toBeLessThanOrEqual(4096);
          expect(Object.keys(report.adjusted).length).toBeLessThanOrEqual(17);
          const { installation_progress: progress = 0 } = report;
          expect(Number.isInteger(progress) && progress >= 0 && progress <= 100).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});
