import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readBoot } from './boot.ts';

const folder = mkdtempSync(join(tmpdir(), 'boot-'));
afterAll(() => rmSync(folder, { recursive: true }));

function proc(name: string, bootId: string, uptime: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, 'sys/kernel/random'), { recursive: true });
  writeFileSync(join(path, 'sys/kernel/random/boot_id'), bootId);
  writeFileSync(join(path, 'uptime'), uptime);
  return path;
}

describe('the boot of a machine', () => {
  it('is its id and how long it has run', async () => {
    const path = proc('fine', '3f0c1c1e-7b0e-4c62-9f6a-1c8f2f6d3a11\n', '3605.91 7001.20\n');
    expect(await readBoot(path)).toEqual({
      boot_id: '3f0c1c1e-7b0e-4c62-9f6a-1c8f2f6d3a11',
      uptime_seconds: 3605,
    });
  });

  it('is left out where the kernel does not say', async () => {
    expect(await readBoot(join(folder, 'none'))).toEqual({});
    expect(await readBoot(proc('odd', 'x\n', 'soon\n'))).toEqual({});
  });
});
