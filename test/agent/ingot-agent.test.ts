/** `ingot agent` through the whole command line, whose own options have some of the same names. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../../src/main.ts';

const written = { stdout: '', stderr: '' };

beforeEach(() => {
  for (const name of ['stdout', 'stderr'] as const) {
    written[name] = '';
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function ingot(...argv: string[]): Promise<number> {
  try {
    await runCommandLine({ program: 'ingot', argv });
    return Number(process.exitCode);
  } finally {
    process.exitCode = undefined;
  }
}

const needed = ['--server', 'https://x.example', '--machine-id', '1165a9b6', '--pool', 'gpu'];

describe('ingot agent', () => {
  it('is among the commands, with options of its own', async () => {
    expect(await ingot('--help')).toBe(0);
    expect(written.stdout).toMatch(/^ {2}agent +Run on a machine/m);
    expect(await ingot('agent', '--help')).toBe(0);
    expect(written.stdout).toContain('INGOT_AGENT_SERVER');
  });

  it('takes --server and --token-file wherever they stand', async () => {
    expect(await ingot('agent', 'install', ...needed, '--token-file', '/srv/token')).toBe(0);
    expect(written.stdout).toContain('Environment="INGOT_AGENT_SERVER=https://x.example"\n');
    expect(written.stdout).toContain('LoadCredential=machine-token:/srv/token\n');
    expect(written.stdout).toMatch(/^ExecStart=.* "agent" "--token-file" /m);
    const [first, second, ...others] = needed;
    written.stdout = '';
    expect(await ingot(String(first), String(second), 'agent', ...others, 'install')).toBe(0);
    expect(written.stdout).toContain('Environment="INGOT_POOL=gpu"\n');
  });

  it('does not take the server or the token of the client for its own', async () => {
    vi.stubEnv('INGOT_SERVER', '127.0.0.1:50051');
    vi.stubEnv('INGOT_TOKEN', 'the-token-of-an-admin');
    expect(await ingot('agent', ...needed.slice(2))).toBe(64);
    expect(written.stderr).toMatch(/^ingot: --server: is missing: .*\n$/);
    written.stderr = '';
    expect(await ingot('agent', ...needed)).toBe(64);
    expect(written.stderr).toMatch(/^ingot: --token-file: is missing: .*\n$/);
  });
});
