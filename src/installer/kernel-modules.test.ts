import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { moduleTables, selectModules } from './kernel-modules.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-modules-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function addModule(path: string, ...info: readonly string[]): void {
  const file = join(dir, 'kernel', path);
  mkdirSync(dirname(file), { recursive: true });
  const content = elfWith(`${info.join('\0')}\0`);
  writeFileSync(file, path.endsWith('.gz') ? gzipSync(content) : content);
}

/** An ELF file of two sections: the names of sections, and .modinfo. */
function elfWith(modinfo: string): Buffer {
  const names = Buffer.from('\0.modinfo\0.shstrtab\0');
  const info = Buffer.from(modinfo);
  const head = Buffer.alloc(64);
  head.write('\x7fELF\x02\x01', 'latin1');
  head.writeBigUInt64LE(BigInt(64 + names.length + info.length), 40);
  head.writeUInt16LE(64, 58);
  head.writeUInt16LE(2, 60);
  head.writeUInt16LE(0, 62);
  const section = (nameAt: number, from: number, size: number) => {
    const entry = Buffer.alloc(64);
    entry.writeUInt32LE(nameAt, 0);
    entry.writeBigUInt64LE(BigInt(from), 24);
    entry.writeBigUInt64LE(BigInt(size), 32);
    return entry;
  };
  const sections = [section(10, 64, names.length), section(1, 64 + names.length, info.length)];
  return Buffer.concat([head, names, info, ...sections]);
}

describe('the modules of an initramfs', () => {
  it('are those that are wanted and what they need, each before what it needs itself', () => {
    addModule('drivers/net/card.ko', 'depends=bus-core,other', 'alias=pci:v0001*');
    addModule('drivers/bus/bus_core.ko', 'depends=base');
    addModule('lib/base.ko', 'depends=');
    addModule('drivers/sound/noise.ko', 'depends=base');
    const modules = selectModules(dir, ['drivers/net/']);
    // "other" is built into the kernel.
    expect(modules.map(({ path }) => path)).toEqual([
      'kernel/drivers/bus/bus_core.ko',
      'kernel/drivers/net/card.ko',
      'kernel/lib/base.ko',
    ]);
    const { dep, alias } = moduleTables(modules);
    expect(dep).toContain('kernel/drivers/net/card.ko: kernel/drivers/bus/bus_core.ko kernel/lib/base.ko\n');
    expect(alias).toBe('alias pci:v0001* card\n');
  });

  it('include what a module would like to find loaded, but not what may come later', () => {
    addModule('drivers/net/card.ko', 'softdep=pre: phy sum post: led');
    addModule('drivers/phy.ko');
    addModule('lib/sum.ko');
    addModule('drivers/led.ko');
    expect(selectModules(dir, ['drivers/net/card']).map(({ path }) => path)).toEqual([
      'kernel/drivers/net/card.ko',
      'kernel/drivers/phy.ko',
      'kernel/lib/sum.ko',
    ]);
  });

  it('are unpacked where the kernel has them packed', () => {
    addModule('drivers/net/card.ko.gz', 'alias=pci:v0002*');
    const [module] = selectModules(dir, ['drivers/net/card']);
    expect(module).toMatchObject({ path: 'kernel/drivers/net/card.ko', aliases: ['pci:v0002*'] });
  });

  it('do not go round in circles with modules that need each other', () => {
    addModule('drivers/a.ko', 'depends=b');
    addModule('drivers/b.ko', 'depends=a');
    expect(selectModules(dir, ['drivers/a'])).toHaveLength(2);
  });
});
