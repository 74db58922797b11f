import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installerCommand } from './installer-command.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-installer-command-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function build(options: Readonly<Record<string, string>>) {
  let out = '';
  let err = '';
  const command = installerCommand({
    program: 'ingot',
    cwd: dir,
    dataDir: () => dir,
    writeOut: (text) => {
      out += text;
    },
    writeErr: (text) => {
      err += text;
    },
  });
  const code = await command.subcommands?.find(({ name }) => name === 'build')?.run(options, []);
  return { code, out, err };
}

describe('installer build', () => {
  it('says in one line what is wrong, and prints nothing else', async () => {
    writeFileSync(join(dir, 'not.deb'), 'not a package');
    for (const [options, words] of [
      [{ kernelDeb: 'absent.deb' }, 'absent.deb'],
      [{ kernelDeb: 'not.deb' }, 'dpkg'],
      [{ kernelPackage: 'a; b' }, 'not a package name'],
      [{ kernelPackage: 'linux-image-amd64', kernelDeb: 'x.deb' }, 'are mutually exclusive'],
      [{ arch: 'riscv64' }, 'riscv64'],
    ] as const) {
      const { code, out, err } = await build(options);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/^ingot: .+\n$/);
      expect(err).toContain(words);
    }
  });
});
