import { describe, expect, it } from 'vitest';
import type { MachineFigures } from './figures/machine-figures.ts';
import { type HttpAnswer, NoAnswer } from './post-json.ts';
import { runAgent } from './run-agent.ts';
import type { TokenSource } from './token/token-source.ts';

const identity = {
  machineId: '1165a9b6',
  provider: 'generic',
  pool: 'gpu',
  hostname: 'rack-1',
  agentVersion: '1.0.0-node',
};

/** A machine whose tool answers so, one after another. */
function machineWithGpus(...counts: (number | undefined)[]): MachineFigures {
  return {
    hardware: async () => ({
      cpu: '1000m',
      memory: '1Ki',
      gpu_count: String(counts[0] ?? 0),
      private_ip: '10.0.0.1',
    }),
    metrics: async () => ({ metrics: {}, gpuCount: counts.length > 1 ? counts.shift() : counts[0] }),
  };
}

/** Runs until `enough` requests were sent: what they were, and what was logged. */
async function play(
  figures: MachineFigures,
  enough: number,
  answer: (n: number) => HttpAnswer = () => ({ status: 200, retryAfter: undefined, body: '{}' }),
  { kind = 'file', files = ['abc123'] }: { kind?: TokenSource['kind']; files?: string[] } = {},
) {
  const stop = new AbortController();
  const sent: string[] = [];
  const events: string[] = [];
  const notices: string[] = [];
  let token = files.shift() ?? '';
  const tokens: TokenSource = {
    kind,
    current: () => token,
    seen: () => [token],
    reload: () => {
      const next = files.shift() ?? token;
      if (next === token) return 'same';
      token = next;
      return 'changed';
    },
    replace: (next) => {
      token = next;
    },
  };
  const post = async (path: string): Promise<HttpAnswer> => {
    sent.push(path.replace('/api/v1/machine/', ''));
    if (sent.length >= enough) stop.abort();
    return answer(sent.length);
  };
  const exit = await runAgent(
    {
      identity,
      intervalMs: 5,
      requestLimitMs: 1000,
      tokens,
      manager: {
        ready: (text) => notices.push(`READY ${text}`),
        status: (text) => notices.push(text),
      },
      pulse: { expect: () => {}, isAlive: () => true },
      poster: { post, close: () => {} },
      figures,
      log: (_level, event) => events.push(event),
      now: () => 0,
      random: () => 0.5,
    },
    stop.signal,
  );
  return { sent, events, notices, exit };
}

describe('runAgent', () => {
  it('registers again when the GPUs are not those that it registered', async () => {
    const { sent, events } = await play(machineWithGpus(0, 0, 8), 6);
    expect(sent).toEqual(['register', 'keepalive', 'keepalive', 'register', 'keepalive', 'keepalive']);
    expect(events.filter((event) => event === 're-registering')).toHaveLength(1);
  });

  it('does not take a tool that fails for GPUs that are gone', async () => {
    const { sent } = await play(machineWithGpus(8, 8, undefined, 8), 5);
    expect(sent.filter((path) => path === 'register')).toHaveLength(1);
  });

  it('goes on after an answer that did not come', async () => {
    const { sent, events } = await play(machineWithGpus(0), 3, (n) => {
      if (n === 1) throw new NoAnswer('ECONNREFUSED');
      return { status: 200, retryAfter: undefined, body: '{}' };
    });
    expect(sent).toEqual(['register', 'register', 'keepalive']);
    expect(events).toEqual(['registration failed', 'registered']);
  });

  it('does not hide a defect of its own', async () => {
    const broken = () => {
      throw new TypeError('a defect');
    };
    await expect(play(machineWithGpus(0), 3, broken)).rejects.toThrow('a defect');
  });

  const answered = (status: number, body: object): HttpAnswer => ({
    status,
    retryAfter: undefined,
    body: JSON.stringify(body),
  });
  const DENIED = answered(403, { message: 'Invalid token', error_code: 'invalid_token' });
  const REVOKED = answered(403, { message: 'Invalid token', error_code: 'invalid_token', revoked: true });
  const FINE = answered(200, {});

  it('goes on with the token that its file holds after a refusal, and registers with it', async () => {
    const { sent, events, exit } = await play(machineWithGpus(0), 5, (n) => (n === 3 ? DENIED : FINE), {
      files: ['old', 'new'],
    });
    expect(sent).toEqual(['register', 'keepalive', 'keepalive', 'register', 'keepalive']);
    expect(events).toContain('token replaced');
    expect(exit).toBe('stopped');
  });

  it('finds a token that is put into the file while it waits', async () => {
    const { events } = await play(machineWithGpus(0), 2, (n) => (n === 1 ? DENIED : FINE), {
      files: ['old', 'old', 'new'],
    });
    expect(events.slice(0, 2)).toEqual(['registration denied', 'token replaced']);
  });

  it('never gives up on a token that is only wrong, but on a credential that only a restart can replace', async () => {
    expect((await play(machineWithGpus(0), 6, () => DENIED)).exit).toBe('stopped');
    const { sent, exit } = await play(machineWithGpus(0), 10, () => DENIED, { kind: 'credential' });
    expect(exit).toBe('staleCredential');
    expect(sent).toHaveLength(3);
  });

  it('ends when its token was revoked for good, unless its file holds another', async () => {
    const { sent, events, exit } = await play(machineWithGpus(0), 10, (n) => (n < 3 ? FINE : REVOKED));
    expect(exit).toBe('revoked');
    expect(sent).toHaveLength(3);
    expect(events.slice(-2)).toEqual(['keepalive denied', 'giving up']);
    const other = await play(machineWithGpus(0), 4, (n) => (n === 3 ? REVOKED : FINE), {
      files: ['old', 'new'],
    });
    expect(other.exit).toBe('stopped');
  });

  it('is ready for its service manager with the first registration, and notifies it of changes', async () => {
    const { notices } = await play(machineWithGpus(0), 6, (n) => {
      if (n === 1 || n === 5) throw new NoAnswer('ECONNREFUSED');
      return FINE;
    });
    expect(notices).toEqual([
      'registration failed',
      'READY registered',
      'ready',
      'ready',
      'keepalive failed',
    ]);
  });
});
