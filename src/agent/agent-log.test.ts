import { describe, expect, it } from 'vitest';
import { type AgentLog, createAgentLog, type LogLevel } from './agent-log.ts';

function linesOf(level: LogLevel, say: (log: AgentLog) => void): string[] {
  const lines: string[] = [];
  say(
    createAgentLog({
      level,
      write: (line) => lines.push(line),
      now: () => 0,
      secrets: () => ['s3cret-token', 'newer-token'],
    }),
  );
  return lines;
}

describe('the log of the agent', () => {
  it('is one line an event, with what belongs to it', () => {
    expect(
      linesOf('info', (log) =>
        log('warn', 'keepalive failed', { failures: 2, reason: 'a "b"', x: undefined }),
      ),
    ).toEqual(['1970-01-01T00:00:00.000Z warn  keepalive failed failures=2 reason="a \\"b\\""\n']);
  });

  it('leaves out what is below its level', () => {
    const say = (log: AgentLog) => {
      log('debug', 'keepalive');
      log('info', 'ready');
      log('error', 'denied');
    };
    expect(linesOf('debug', say)).toHaveLength(3);
    expect(linesOf('warn', say)).toHaveLength(1);
    expect(linesOf('silent', say)).toHaveLength(0);
  });

  it('never writes the token, not even cut in two by the limit on lengths', () => {
    const echo = `${'x'.repeat(295)}s3cret-token s3cret-token`;
    const text = linesOf('info', (log) => log('warn', 'failed', { reason: echo })).join('');
    expect(text).not.toContain('s3cr');
    expect(text.length).toBeLessThan(400);
  });

  it('lets no text from outside begin a line or steer a terminal', () => {
    const [line = ''] = linesOf('info', (log) =>
      log('warn', 'failed', { reason: 'a\nb\r\u001b[2J\u009b\u2028\u202e' }),
    );
    expect(line.slice(0, -1)).toMatch(/^[\x20-\x7e]+$/);
  });
});
