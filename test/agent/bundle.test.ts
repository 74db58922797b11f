// @module-tag extended: ingot-agent.test.ts starts the program.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useAgentBundle } from './agent-process.ts';
import { Gateway } from './gateway.ts';

const bundle = useAgentBundle();
const gateway = new Gateway();
beforeEach(() => gateway.start());
afterEach(() => gateway.stop());

async function outputOf(...args: string[]): Promise<string> {
  const agent = bundle.start(args);
  expect(await agent.ended).toEqual({ code: 0, signal: null });
  expect(agent.stderr()).toBe('');
  return agent.stdout();
}

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

describe('the agent in one file', () => {
  it('is under 2 MB, and asks for nothing but Node.js', () => {
    expect(readdirSync(dirname(bundle.file))).toEqual(['ingot-agent.mjs']);
    expect(statSync(bundle.file).size).toBeLessThan(2_000_000);
    expect(statSync(bundle.file).mode & 0o111).not.toBe(0);
    const text = readFileSync(bundle.file, 'utf8');
    expect(text).toMatch(/^#!\/usr\/bin\/env node\n/);
    const asked = [...text.matchAll(/(?:\bfrom|\bimport|\brequire\(|[;,{]e\()\s*["'`]([\w:@/-]+)["'`]/g)];
    const modules = new Set(asked.map(([, name = '']) => name.replace(/^node:/, '')));
    expect(modules).toContain('http');
    expect([...modules].filter((name) => !builtinModules.includes(name))).toEqual([]);
  });

  it('runs in a directory with nothing else, and stops on a signal', async () => {
    const agent = bundle.start(['--machine-id', '1165a9b6', '--pool', 'gpu'], {
      INGOT_AGENT_SERVER: gateway.url,
      INGOT_MACHINE_TOKEN: 'abc123-from-the-environment',
      INGOT_AGENT_INTERVAL: '0.1',
    });
    await expect.poll(() => gateway.sent('keepalive').length, { timeout: 15_000 }).toBeGreaterThan(2);
    expect(gateway.sent('keepalive')[0]?.body.agent_version).toBe(`${version}-node`);
    agent.signal('SIGTERM');
    expect(await agent.ended).toEqual({ code: 0, signal: null });
    expect(agent.stderr()).not.toContain('abc123');
  });

  it('prints its version, and its options with the warning about the token', async () => {
    expect(await outputOf('--version')).toBe(`${version}\n`);
    const help = await outputOf('--help');
    expect(help).toContain('Usage: ingot-agent ');
    expect(help.replace(/\s+/g, ' ')).toContain('every user of the machine can read it on a command line');
    for (const name of ['INGOT_AGENT_SERVER', 'INGOT_MACHINE_TOKEN_FILE', '--interval', 'install'])
      expect(help).toContain(name);
  });

  it('prints a unit that starts this very file', async () => {
    const unit = await outputOf(
      'install',
      '--server',
      'https://x.example',
      '--machine-id',
      'a1',
      '--pool',
      'gpu',
    );
    expect(unit).toContain(`ExecStart="${process.execPath}" "${bundle.file}" "--token-file" `);
    expect(unit).toContain('Environment="INGOT_AGENT_SERVER=https://x.example"\n');
  });
});
