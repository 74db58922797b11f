import { describe, expect, it } from 'vitest';
import { probablyMeant } from './nearest.ts';

const KNOWN = ['phase', 'pool', 'effective_state', 'location.rack', 'location.row', 'maintenance_until'];

describe('probablyMeant', () => {
  it.each([
    ['a wrong letter', 'phaze', 'phase'],
    ['swapped letters', 'pahse', 'phase'],
    ['a missing letter', 'pol', 'pool'],
    ['another case', 'Phase', 'phase'],
    ['the end of a name', 'rack', 'location.rack'],
    ['a mistyped end of a name', 'rakc', 'location.rack'],
    ['a beginning that one name has', 'maint', 'maintenance_until'],
  ])('finds the name for %s', (_, given, name) => {
    expect(probablyMeant(given, KNOWN)).toBe(name);
  });

  it.each(['hostname', 'location', 'x', ''])('has no name for %j', (given) => {
    expect(probablyMeant(given, KNOWN)).toBeNull();
  });
});
