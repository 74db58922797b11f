import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { countContainers } from './containers.ts';

let proc = '';

function processes(...names: string[]): string {
  proc = mkdtempSync(join(tmpdir(), 'ingot-proc-'));
  names.forEach((name, n) => {
    mkdirSync(join(proc, String(n + 1)));
    writeFileSync(join(proc, String(n + 1), 'comm'), `${name}\n`);
  });
  // What else is in /proc, and a process that ended during the scan.
  mkdirSync(join(proc, 'sys'));
  mkdirSync(join(proc, '999'));
  return proc;
}

afterEach(() => rmSync(proc, { recursive: true, force: true }));

describe('containers', () => {
  it('are counted by what runs beside each', async () => {
    expect(
      await countContainers(processes('systemd', 'containerd', 'containerd-shim', 'containerd-shim')),
    ).toBe(2);
    rmSync(proc, { recursive: true });
    expect(await countContainers(processes('conmon', 'bash'))).toBe(1);
  });

  it('are none where a runtime runs and nothing beside it', async () => {
    expect(await countContainers(processes('dockerd', 'containerd'))).toBe(0);
  });

  it('are unknown where no runtime is seen', async () => {
    expect(await countContainers(processes('systemd', 'bash'))).toBeUndefined();
    expect(await countContainers('/nowhere')).toBeUndefined();
  });
});
