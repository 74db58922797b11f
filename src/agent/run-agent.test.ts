import { describe, expect, it } from 'vitest';
import type { MachineFigures } from './machine-figures.ts';
import { type HttpAnswer, NoAnswer } from './post-json.ts';
import { runAgent } from './run-agent.ts';

const identity = {
  machineId: '1165a9b6',
  provider: 'generic',
  pool: 'gpu',
  token: 'abc123',
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
) {
  const stop = new AbortController();
  const sent: string[] = [];
  const events: string[] = [];
  const post = async (path: string): Promise<HttpAnswer> => {
    sent.push(path.replace('/api/v1/machine/', ''));
    if (sent.length >= enough) stop.abort();
    return answer(sent.length);
  };
  await runAgent(
    {
      identity,
      intervalMs: 5,
      poster: { post, close: () => {} },
      figures,
      log: (_level, event) => events.push(event),
      now: () => 0,
      random: () => 0.5,
    },
    stop.signal,
  );
  return { sent, events };
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
});
