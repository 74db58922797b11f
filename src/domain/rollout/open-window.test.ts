import { describe, expect, it } from 'vitest';
import { isOpenAt, nextClosing, nextOpening } from './open-window.ts';
import type { Blackout, Window } from './spec/rollout-spec.ts';

const at = (text: string) => new Date(text);
const minutes = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

function window(from: string, to: string, fields: Partial<Window> = {}): Window {
  return { days: [], from: minutes(from), to: minutes(to), timeZone: 'UTC', ...fields };
}

function blackout(from: string, to: string, timeZone = 'UTC'): Blackout {
  return { from, to, timeZone, reason: '' };
}

const opening = (...windows: Window[]) => ({ windows, blackouts: [] as Blackout[] });

/** The first minute from then on in which it is open, found by trying each: what nextOpening must say. */
function firstOpenMinute(given: ReturnType<typeof opening>, from: Date): Date {
  for (let time = from.getTime(); ; time += 60_000)
    if (isOpenAt(given, new Date(time))) return new Date(time);
}

describe('a window', () => {
  it('is open from its start until before its end', () => {
    const office = opening(window('09:00', '16:00'));
    for (const [time, open] of [
      ['08:59:59.999', false],
      ['09:00:00.000', true],
      ['15:59:59.999', true],
      ['16:00:00.000', false],
    ] as const)
      expect([time, isOpenAt(office, at(`2026-11-17T${time}Z`))]).toEqual([time, open]);
    expect(nextOpening(office, at('2026-11-17T16:00:00Z'))).toEqual(at('2026-11-18T09:00:00Z'));
  });

  it('is open on its days only', () => {
    const days = opening(window('09:00', '16:00', { days: ['mon', 'wed'] }));
    // The 16th of November 2026 is a Monday.
    expect([16, 17, 18, 19].map((day) => isOpenAt(days, at(`2026-11-${day}T10:00:00Z`)))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(nextOpening(days, at('2026-11-18T16:00:00Z'))).toEqual(at('2026-11-23T09:00:00Z'));
  });

  it('is read on the clock and the calendar of its time zone', () => {
    const tokyo = opening(window('09:00', '12:00', { days: ['tue'], timeZone: 'Asia/Tokyo' }));
    // In Tokyo it is Tuesday already.
    expect(isOpenAt(tokyo, at('2026-11-17T00:00:00Z'))).toBe(true);
    expect(isOpenAt(tokyo, at('2026-11-16T23:59:00Z'))).toBe(false);
    const hawaii = opening(window('20:00', '23:00', { days: ['mon'], timeZone: 'Pacific/Honolulu' }));
    expect(isOpenAt(hawaii, at('2026-11-17T06:00:00Z'))).toBe(true);
    expect(nextOpening(hawaii, at('2026-11-17T09:00:00Z'))).toEqual(at('2026-11-24T06:00:00Z'));
    const nepal = opening(window('09:00', '10:00', { timeZone: 'Asia/Kathmandu' }));
    expect(nextOpening(nepal, at('2026-11-17T00:00:00Z'))).toEqual(at('2026-11-17T03:15:00Z'));
  });

  it('over midnight belongs to the day of its start', () => {
    const night = opening(window('22:00', '04:00', { days: ['fri'] }));
    // The 20th of November 2026 is a Friday.
    for (const [time, open] of [
      ['2026-11-20T03:00', false],
      ['2026-11-20T21:59', false],
      ['2026-11-20T22:00', true],
      ['2026-11-21T03:59', true],
      ['2026-11-21T04:00', false],
      ['2026-11-21T22:00', false],
    ] as const)
      expect([time, isOpenAt(night, at(`${time}:00Z`))]).toEqual([time, open]);
    expect(nextOpening(night, at('2026-11-21T04:00:00Z'))).toEqual(at('2026-11-27T22:00:00Z'));
  });

  it('whose end is its start lasts a day', () => {
    const sunday = opening(window('00:00', '00:00', { days: ['sun'] }));
    expect(isOpenAt(sunday, at('2026-11-22T00:00:00Z'))).toBe(true);
    expect(isOpenAt(sunday, at('2026-11-22T23:59:00Z'))).toBe(true);
    expect(isOpenAt(sunday, at('2026-11-23T00:00:00Z'))).toBe(false);
  });

  it('is one of many: the first that opens counts', () => {
    const both = opening(window('09:00', '10:00', { days: ['thu'] }), window('20:00', '21:00'));
    expect(nextOpening(both, at('2026-11-18T21:00:00Z'))).toEqual(at('2026-11-19T09:00:00Z'));
  });
});

describe('on days on which the clocks change', () => {
  const berlin = (from: string, to: string) => opening(window(from, to, { timeZone: 'Europe/Berlin' }));

  it('a window keeps its local hours', () => {
    const office = berlin('09:00', '16:00');
    expect(nextOpening(office, at('2026-03-28T20:00:00Z'))).toEqual(at('2026-03-29T07:00:00Z'));
    expect(nextOpening(office, at('2026-10-24T20:00:00Z'))).toEqual(at('2026-10-25T08:00:00Z'));
  });

  // In 2026 Berlin skips 02:00 to 03:00 on the 29th of March, and has it twice on the 25th of October; New York skips on the
  // 8th of March and repeats on the 1st of November; Beirut skips the midnight of the 29th of March.
  it.each([
    ['Europe/Berlin', '02:30', '05:00', '2026-03-28T23:00:00Z', '2026-03-29T01:00:00.000Z'],
    ['Europe/Berlin', '02:00', '02:30', '2026-03-28T23:00:00Z', '2026-03-30T00:00:00.000Z'],
    ['Europe/Berlin', '02:30', '05:00', '2026-10-24T23:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['Europe/Berlin', '02:15', '02:45', '2026-10-25T00:50:00Z', '2026-10-25T01:15:00.000Z'],
    ['Europe/Berlin', '01:00', '02:30', '2026-10-25T00:40:00Z', '2026-10-25T01:00:00.000Z'],
    ['America/New_York', '02:30', '04:00', '2026-03-08T05:00:00Z', '2026-03-08T07:00:00.000Z'],
    ['America/New_York', '01:30', '03:00', '2026-11-01T04:00:00Z', '2026-11-01T05:30:00.000Z'],
    ['Asia/Beirut', '00:00', '02:00', '2026-03-28T20:00:00Z', '2026-03-28T22:00:00.000Z'],
  ])('%s from %s to %s opens in the first minute that its clock shows', (timeZone, from, to, now, opens) => {
    const given = opening(window(from, to, { timeZone }));
    expect(nextOpening(given, at(now))?.toISOString()).toBe(opens);
    expect(firstOpenMinute(given, at(now)).toISOString()).toBe(opens);
  });

  it('a black-out day ends where the next day starts', () => {
    const given = { windows: [], blackouts: [blackout('2026-03-28', '2026-03-28', 'Asia/Beirut')] };
    expect(nextOpening(given, at('2026-03-28T12:00:00Z'))).toEqual(at('2026-03-28T22:00:00Z'));
  });
});

describe('black-out days', () => {
  it('close every window, both of their ends included', () => {
    const given = {
      windows: [window('09:00', '16:00')],
      blackouts: [
        blackout('2026-12-24', '2026-12-26', 'Europe/Berlin'),
        blackout('2026-12-27', '2026-12-27'),
      ],
    };
    for (const day of [24, 25, 26, 27])
      expect([day, isOpenAt(given, at(`2026-12-${day}T10:00:00Z`))]).toEqual([day, false]);
    expect(nextOpening(given, at('2026-12-23T16:00:00Z'))).toEqual(at('2026-12-28T09:00:00Z'));
  });

  it('end within a window that has been open since the day before', () => {
    const given = { windows: [window('22:00', '04:00')], blackouts: [blackout('2026-12-24', '2026-12-24')] };
    expect(nextOpening(given, at('2026-12-24T23:00:00Z'))).toEqual(at('2026-12-25T00:00:00Z'));
  });

  it('of a window that is open on none of the next 400 days leave no opening', () => {
    const given = { windows: [window('09:00', '16:00')], blackouts: [blackout('2026-01-01', '2099-12-31')] };
    expect(nextOpening(given, at('2026-12-24T23:00:00Z'))).toBeNull();
  });

  it('no window at all is always open', () => {
    expect(isOpenAt({ windows: [], blackouts: [] }, at('2026-12-24T23:00:00Z'))).toBe(true);
  });
});

describe('the next closing', () => {
  /** Found by trying each minute: what nextClosing must say. */
  function firstClosedMinute(given: ReturnType<typeof opening>, from: Date): Date {
    for (let time = from.getTime(); ; time += 60_000)
      if (!isOpenAt(given, new Date(time))) return new Date(time);
  }

  const berlin = { timeZone: 'Europe/Berlin' };

  it.each([
    ['a window', opening(window('09:00', '16:00')), '2026-03-02T09:00:00Z'],
    ['one over midnight', opening(window('22:00', '02:00')), '2026-03-02T23:30:00Z'],
    ['two that touch', opening(window('09:00', '12:00'), window('12:00', '13:00')), '2026-03-02T11:00:00Z'],
    ['days of the week', opening(window('00:00', '00:00', { days: ['mon', 'tue'] })), '2026-03-02T10:00:00Z'],
    [
      'the night in which clocks go forward',
      opening(window('00:00', '02:30', berlin)),
      '2026-03-28T23:30:00Z',
    ],
    ['the night in which they go back', opening(window('00:00', '02:30', berlin)), '2026-10-24T22:30:00Z'],
    [
      'a black-out day',
      { windows: [], blackouts: [blackout('2026-03-05', '2026-03-06')] },
      '2026-03-02T10:00:00Z',
    ],
  ])('of %s is the first minute at which it is not open', (_name, given, from) => {
    expect(nextClosing(given, at(from))).toEqual(firstClosedMinute(given, at(from)));
  });

  it('is none where it never closes', () => {
    expect(nextClosing(opening(), at('2026-03-02T10:00:00Z'))).toBeNull();
    expect(nextClosing(opening(window('08:00', '08:00')), at('2026-03-02T10:00:00Z'))).toBeNull();
  });
});
