/** The agent as it is shipped: one file, in a directory with nothing else, as a separate process. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface RunningAgent {
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Waits until the log has it. */
  readonly says: (text: string | RegExp) => Promise<void>;
  readonly signal: (name: 'SIGTERM' | 'SIGINT' | 'SIGSTOP' | 'SIGCONT') => void;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

export interface AgentBundle {
  readonly file: string;
  readonly start: (args: readonly string[], env?: Readonly<Record<string, string>>) => RunningAgent;
}

/** Bundles once for the tests of a file, and ends what a test left running. */
export function useAgentBundle(): AgentBundle {
  const running = new Set<ChildProcess>();
  let folder = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ingot-agent-'));
    execFileSync(process.execPath, [
      join(root, 'scripts', 'bundle-agent.mjs'),
      join(folder, 'ingot-agent.mjs'),
    ]);
  });
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  return {
    get file() {
      return join(folder, 'ingot-agent.mjs');
    },
    start(args, env = {}) {
      const child = spawn(process.execPath, [join(folder, 'ingot-agent.mjs'), ...args], {
        cwd: folder,
        // Nothing is inherited: a variable in the environment of the tests must not be a setting of the agent.
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      running.add(child);
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      const ended = once(child, 'close').then(([code, signal]) => {
        running.delete(child);
        return { code: code as number | null, signal: signal as string | null };
      });
      return {
        stdout: () => stdout,
        stderr: () => stderr,
        says: (text) => expect.poll(() => stderr, { timeout: 15_000, interval: 20 }).toMatch(text),
        signal: (name) => void child.kill(name),
        ended,
      };
    },
  };
}
