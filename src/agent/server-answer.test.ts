import { describe, expect, it } from 'vitest';
import { readServerAnswer } from './server-answer.ts';

const read = (status: number, body: unknown, retryAfter?: string) =>
  readServerAnswer(
    { status, retryAfter, body: typeof body === 'string' ? body : JSON.stringify(body) },
    Date.parse('2026-01-01T00:00:00Z'),
  );

describe('readServerAnswer', () => {
  it('takes the documented answers', () => {
    const state = { machine_id: '1165a9b6', status: 'registered', pool_name: 'gpu', ttl_seconds: 300 };
    expect(read(200, { config: null, machine_state: state })).toEqual({
      kind: 'accepted',
      status: 'registered',
      ttlSeconds: 300,
    });
    expect(read(500, { error: 'Machine state expired', error_code: 'machine_not_found' })).toEqual({
      kind: 'expired',
      reason: 'answered 500: Machine state expired',
    });
    expect(read(403, { error: 'Invalid token', error_code: 'invalid_token' }).kind).toBe('denied');
    expect(read(400, { error: 'machine_id and pool_name are required' }).kind).toBe('refused');
    expect(read(500, { error: 'Invalid pool name' })).toEqual({
      kind: 'unavailable',
      reason: 'answered 500: Invalid pool name',
    });
  });

  it('repeats what the server says, under whichever name', () => {
    const reasonOf = (body: unknown) => (read(400, body) as { reason?: string }).reason;
    expect(reasonOf({ message: 'Invalid payload', detail: 'cpu is required' })).toBe(
      'answered 400: Invalid payload: cpu is required',
    );
    expect(reasonOf({ error: 'no' })).toBe('answered 400: no');
    expect(reasonOf({ error: { code: 7 } })).toBe('answered 400');
    expect(reasonOf('Bad\nRequest')).toBe('answered 400: Bad Request');
  });

  it.each([
    ['no state', {}],
    ['a state of another shape', { machine_state: [1] }],
    ['values of another kind', { machine_state: { status: 7, ttl_seconds: 'soon' } }],
    ['an invalid TTL', { machine_state: { ttl_seconds: -1 } }],
  ])('is content with %s', (_what, body) => {
    expect(read(200, body)).toEqual({ kind: 'accepted' });
  });

  it.each([
    ['a page', '<html>Welcome to the hotel</html>'],
    ['nothing', ''],
    ['a list', '[]'],
    ['null', 'null'],
  ])('does not take %s for an acceptance', (_what, body) => {
    expect(read(200, body).kind).toBe('unavailable');
  });

  it('does not follow redirects', () => {
    expect(read(308, '')).toMatchObject({ kind: 'refused', reason: expect.stringContaining('redirects') });
  });

  it.each([408, 425, 429, 500, 502, 503, 504])('%i passes by itself', (status) => {
    expect(read(status, 'Bad Gateway').kind).toBe('unavailable');
  });

  it.each([
    ['7', 7000],
    ['Thu, 01 Jan 2026 00:00:20 GMT', 20_000],
    ['Thu, 01 Jan 2020 00:00:00 GMT', 0],
    ['999999', 600_000],
    ['soon', undefined],
  ])('reads Retry-After: %s', (text, ms) => {
    const answer = read(503, '', text);
    expect(answer.kind === 'unavailable' && answer.retryAfterMs).toBe(ms);
  });
});
