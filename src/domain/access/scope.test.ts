import { describe, expect, it } from 'vitest';
import { isInside, narrowed, parseScope } from './scope.ts';

describe('A scope', () => {
  it('is the whole fleet where it is empty', () => {
    expect(parseScope(' ')).toBeNull();
  });

  it.each(['phase=READY', 'customer_id=acme AND NOT service=active', 'updated_at>2026-01-01T00:00:00Z'])(
    'does not ask for what changes by itself: %s',
    (text) => {
      expect(() => parseScope(text)).toThrow('changes by itself');
    },
  );

  it.each(['nothing=1', 'customer_id=(', 'x'.repeat(3000)])(
    'is refused where it is no filter: %s',
    (text) => {
      expect(() => parseScope(text)).toThrow(/^scope: /);
    },
  );

  it('has the same terms however it is written', () => {
    const short = parseScope('customer_id=acme AND location.site=ams1');
    const long = parseScope('(spec.location.site = "ams1") AND spec.customer_id="acme"');
    expect(short?.terms).toEqual(long?.terms);
  });

  it('is inside another that has fewer terms', () => {
    const acme = parseScope('customer_id=acme');
    const ams = parseScope('customer_id=acme AND location.site=ams1');
    expect([isInside(ams, acme), isInside(acme, ams), isInside(null, acme), isInside(acme, null)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  it('is narrowed by both filters, and never widened', () => {
    const acme = parseScope('customer_id=acme');
    expect(narrowed(acme, null)?.text).toBe('customer_id=acme');
    expect(narrowed(acme, parseScope('customer_id=globex OR pool=x'))?.text).toBe(
      '(customer_id=acme) AND (customer_id=globex OR pool=x)',
    );
    const inside = 'location.site=ams1 customer_id=acme';
    expect(narrowed(acme, parseScope(inside))?.text).toBe(inside);
  });
});
