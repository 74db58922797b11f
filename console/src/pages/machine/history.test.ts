import { describe, expect, it } from 'vitest';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { EVENT_FILTER } from '../../../../src/domain/filter/event-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { HISTORY_KINDS, historyFilter, newEventsFor, readKinds, toggleKind, writeKinds } from './history.ts';

describe('the kinds of a history', () => {
  it('are all but progress by default, or those in the URL', () => {
    expect(readKinds('')).not.toContain('progress');
    expect(readKinds('')).not.toContain('token');
    expect(readKinds('progress,nonsense,phase')).toEqual(['phase', 'progress']);
    expect(readKinds('nonsense')).toEqual(readKinds(''));
  });

  it('are written to the URL and read back', () => {
    for (const kinds of [readKinds(''), ['phase'], ['progress', 'step'], HISTORY_KINDS] as const) {
      expect(readKinds(writeKinds(kinds)).toSorted()).toEqual(kinds.toSorted());
    }
    expect(writeKinds(readKinds(''))).toBe('');
  });

  it('the first click selects one kind, the next ones add or remove, and removing the last restores the default', () => {
    const one = toggleKind(readKinds(''), 'phase');
    expect(one).toEqual(['phase']);
    const two = toggleKind(one, 'install');
    expect(two).toEqual(['phase', 'install']);
    expect(toggleKind(two, 'phase')).toEqual(['install']);
    expect(readKinds(writeKinds(toggleKind(one, 'phase')))).toEqual(readKinds(''));
  });

  it('result in a filter that the server accepts', () => {
    for (const kinds of [HISTORY_KINDS, readKinds(''), ['phase'] as const]) {
      const filter = historyFilter('"m-1"', kinds);
      expect(() => checkFilter(parseFilter(filter), EVENT_FILTER), filter).not.toThrow();
    }
    expect(historyFilter('"m-1"', HISTORY_KINDS)).toBe('machine_id = "m-1"');
  });
});

describe('events received while the history is shown', () => {
  const event = (eventId: number, machineId = 'm-1', kind = 'phase') => ({
    eventId: BigInt(eventId),
    machineId,
    kind,
  });

  it('are added newest first, without known ones, those of other machines and other kinds', () => {
    const news = [event(4), event(5), event(6, 'm-2'), event(7, 'm-1', 'progress'), event(8)];
    expect(newEventsFor(news, 'm-1', ['phase'], 4n).map(({ eventId }) => Number(eventId))).toEqual([8, 5]);
  });
});
