import { describe, expect, it } from 'vitest';
import { type AgentMove, type AgentState, advanceAgent, firstState } from './advance-agent.ts';
import type { ServerAnswer } from './server-answer.ts';

const MINUTE = 60_000;
const ok: ServerAnswer = { kind: 'accepted', status: 'ready', ttlSeconds: 300 };
const away: ServerAnswer = { kind: 'unavailable', reason: 'ECONNREFUSED' };
const expired: ServerAnswer = { kind: 'expired', reason: 'Machine state expired' };
const denied: ServerAnswer = { kind: 'denied', reason: 'Invalid token' };

/** The moves that a row of answers leads to; `random` is the same for each. */
function play(answers: readonly ServerAnswer[], random = 0.5, start = firstState(MINUTE)): AgentMove[] {
  let state: AgentState = start;
  return answers.map((answer) => {
    const move = advanceAgent(state, answer, random);
    state = move.state;
    return move;
  });
}

const repeated = (answer: ServerAnswer, times: number) => Array.from({ length: times }, () => answer);

describe('the life of an agent', () => {
  it('registers, sends the first keepalive at once, and is quiet from then on', () => {
    const moves = play([ok, ok, ok, ok]);
    expect(moves.map(({ event, level }) => `${level} ${event}`)).toEqual([
      'info registered',
      'info ready',
      'debug keepalive',
      'debug keepalive',
    ]);
    expect(moves[0]?.waitMs).toBe(0);
    expect(moves[3]?.waitMs).toBe(MINUTE);
  });

  it('registers again at once when it has expired, and is ready again', () => {
    const moves = play([ok, ok, expired, ok, ok]);
    expect(moves.map(({ event }) => event)).toEqual([
      'registered',
      'ready',
      're-registering',
      'registered',
      'ready',
    ]);
    expect(moves[2]).toMatchObject({ waitMs: 0, state: { doing: 'register' } });
  });

  it('does not hammer a server that takes registrations and forgets them', () => {
    const rounds = Array.from({ length: 8 }, () => [ok, expired] as const).flat();
    const waits = play(rounds)
      .filter(({ event }) => event === 're-registering')
      .map(({ waitMs }) => waitMs);
    expect(waits[0]).toBe(0);
    expect(waits.slice(1)).toEqual([...waits.slice(1)].sort((a, b) => a - b));
    expect(waits.at(-1)).toBeGreaterThan(20_000);
  });

  it('backs off from an unreachable server, up to one interval, and starts again after a keepalive', () => {
    const last = 0.999_999;
    const waits = play(repeated(away, 12), last).map(({ waitMs }) => Math.round(waitMs / 1000));
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]);
    const after = play([...repeated(away, 12), ok, ok, away], last);
    expect(Math.round((after.at(-1)?.waitMs ?? 0) / 1000)).toBe(1);
  });

  it('never retries at once, whatever chance says', () => {
    for (const answer of [away, denied]) {
      for (const { waitMs } of play(repeated(answer, 40), 0)) expect(waitMs).toBeGreaterThanOrEqual(500);
    }
  });

  it('retries slowly when the token is wrong, and says so as an error', () => {
    const moves = play(repeated(denied, 8), 0.999_999);
    expect(moves.map(({ waitMs }) => Math.round(waitMs / 1000))).toEqual([
      10, 20, 40, 80, 160, 300, 300, 300,
    ]);
    expect(moves[0]).toMatchObject({ level: 'error', event: 'registration denied' });
  });

  it('waits as long as the server asks, and then a part of its own', () => {
    const busy: ServerAnswer = { ...away, kind: 'unavailable', retryAfterMs: 30_000 };
    const at = (random: number) => play([busy], random)[0]?.waitMs ?? 0;
    expect(at(0)).toBeGreaterThan(30_000);
    expect(at(0.9)).toBeGreaterThan(at(0));
  });

  it('keeps alive three times within a short TTL, and goes back when the TTL does', () => {
    const short = play([{ kind: 'accepted', ttlSeconds: 30 }])[0];
    expect(short?.state.intervalMs).toBe(10_000);
    expect(
      play([ok], 0.5, { ...firstState(MINUTE), ...short?.state, doing: 'register' })[0]?.state.intervalMs,
    ).toBe(MINUTE);
    expect(play([{ kind: 'accepted', ttlSeconds: 0.000_1 }])[0]?.state.intervalMs).toBe(1000);
  });

  it('reports the first keepalive that is accepted after failures', () => {
    expect(
      play([ok, ok, away, away, ok])
        .map(({ event }) => event)
        .slice(2),
    ).toEqual(['keepalive failed', 'keepalive failed', 'keepalive accepted again']);
  });
});

describe('jitter', () => {
  // Evenly spaced stand-ins for chance, so that the test can't fail by it.
  const chances = Array.from({ length: 1000 }, (_none, n) => n / 1000);
  const waits = (answers: readonly ServerAnswer[]) =>
    chances.map((random) => play(answers, random).at(-1)?.waitMs ?? 0);
  const fullestTenth = (values: readonly number[], span: number) => {
    const tenths = new Map<number, number>();
    for (const value of values) {
      const tenth = Math.floor((value / span) * 10);
      tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1);
    }
    return Math.max(...tenths.values());
  };

  it('spreads machines that became ready together over the whole interval', () => {
    expect(fullestTenth(waits([ok, ok]), MINUTE)).toBeLessThanOrEqual(101);
  });

  it('lets them drift apart by a tenth, and no more', () => {
    const later = waits([ok, ok, ok]);
    expect(Math.min(...later)).toBeGreaterThanOrEqual(0.9 * MINUTE);
    expect(Math.max(...later)).toBeLessThanOrEqual(1.1 * MINUTE);
    expect(new Set(later).size).toBe(1000);
  });

  it('spreads retries over all of the time up to their ceiling', () => {
    expect(fullestTenth(waits(repeated(away, 7)), MINUTE)).toBeLessThanOrEqual(110);
  });
});
