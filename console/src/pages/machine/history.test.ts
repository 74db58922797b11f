import { describe, expect, it } from 'vitest';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { EVENT_FILTER } from '../../../../src/domain/filter/event-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { HISTORY_KINDS, historyFilter, newsFor, readKinds, toggleKind, writeKinds } from './history.ts';

describe('the kinds of a history', () => {
  it('are the usual ones without progress, unless the URL says others', () => {
    expect(readKinds('')).not.toContain('progress');
    expect(readKinds('')).not.toContain('token');
    expect(readKinds('progress,nonsense,phase')).toEqual(['phase', 'progress']);
    expect(readKinds('nonsense')).toEqual(readKinds(''));
  });

  it('go into the URL and come back', () => {
    for (const kinds of [readKinds(''), ['phase'], ['progress', 'step'], HISTORY_KINDS] as const) {
      expect(readKinds(writeKinds(kinds)).toSorted()).toEqual(kinds.toSorted());
    }
    expect(writeKinds(readKinds(''))).toBe('');
  });

  it('a first press shows one alone, the next ones add and take away, and the last one off shows the usual', () => {
    const one = toggleKind(readKinds(''), 'phase');
    expect(one).toEqual(['phase']);
    const two = toggleKind(one, 'install');
    expect(two).toEqual(['phase', 'install']);
    expect(toggleKind(two, 'phase')).toEqual(['install']);
    expect(readKinds(writeKinds(toggleKind(one, 'phase')))).toEqual(readKinds(''));
  });

  it('are asked for in words that the server knows', () => {
    for (const kinds of [HISTORY_KINDS, readKinds(''), ['phase'] as const]) {
      const filter = historyFilter('"m-1"', kinds);
      expect(() => checkFilter(parseFilter(filter), EVENT_FILTER), filter).not.toThrow();
    }
    expect(historyFilter('"m-1"', HISTORY_KINDS)).toBe('machine_id = "m-1"');
  });
});

describe('what happens while the history is shown', () => {
  const event = (eventId: number, machineId = 'm-1', kind = 'phase') => ({
    eventId: BigInt(eventId),
    machineId,
    kind,
  });

  it('comes in the newest first, without what is there already, what is of others and what is not wanted', () => {
    const news = [event(4), event(5), event(6, 'm-2'), event(7, 'm-1', 'progress'), event(8)];
    expect(newsFor(news, 'm-1', ['phase'], 4n).map(({ eventId }) => Number(eventId))).toEqual([8, 5]);
  });
});
