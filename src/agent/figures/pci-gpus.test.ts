import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPciGpus } from './pci-gpus.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-pci-'));
  mkdirSync(join(folder, 'devices'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function plug(slot: string, vendor: string, device: string, kind: string): string {
  const place = join(folder, 'devices', slot);
  mkdirSync(place);
  for (const [file, text] of Object.entries({ vendor, device, class: kind }))
    writeFileSync(join(place, file), `0x${text}\n`);
  return place;
}

const read = (databases: readonly string[] = []) =>
  readPciGpus({ devices: join(folder, 'devices'), databases });
const models = async (databases?: readonly string[]) => (await read(databases))?.map(({ model }) => model);

describe('GPUs on the PCI bus', () => {
  it('are NVIDIA’s and AMD’s display, 3D and accelerator devices, and nothing else', async () => {
    plug('0000:01:00.0', '10de', '1eb8', '030200');
    plug('0000:02:00.0', '10de', '26b9', '030000');
    plug('0000:03:00.0', '1002', '740f', '038000');
    plug('0000:04:00.0', '1002', '74a1', '120000');
    // A BMC's screen, the sound of a GPU, an NVSwitch and a network card of NVIDIA's.
    plug('0000:05:00.0', '1a03', '2000', '030000');
    plug('0000:01:00.1', '10de', '10f0', '040300');
    plug('0000:06:00.0', '10de', '22a3', '068000');
    plug('0000:07:00.0', '15b3', '1021', '020000');
    expect(await models()).toEqual(['NVIDIA T4', 'NVIDIA L40S', 'AMD Instinct MI210', 'AMD Instinct MI300X']);
  });

  it('have the names of the PCI database, of what they are sold as', async () => {
    const database = join(folder, 'pci.ids');
    writeFileSync(
      database,
      `# comment
1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t1eb8  Something of AMD's
10de  NVIDIA Corporation
\t1eb8  TU104GL [Tesla T4]
\t\t10de 12a2  T4
\t2bb1  GB202GL without a trade name
10ec  Realtek
\t2bb1  Something else
`,
    );
    plug('0000:01:00.0', '10de', '1eb8', '030200');
    plug('0000:02:00.0', '10de', '2bb1', '030200');
    plug('0000:03:00.0', '10de', 'ffff', '030200');
    expect(await models([join(folder, 'absent'), database])).toEqual([
      'NVIDIA Tesla T4',
      'NVIDIA GB202GL without a trade name',
      '10de:ffff',
    ]);
  });

  it('do not count virtual functions beside the device that they are a part of', async () => {
    const device = plug('0000:01:00.0', '10de', '26b9', '030200');
    symlinkSync(device, join(plug('0000:01:00.4', '10de', '26b9', '030200'), 'physfn'));
    expect(await models()).toHaveLength(1);
  });

  it('are unknown where there is no bus, and none where nothing is on it', async () => {
    expect(await readPciGpus({ devices: join(folder, 'absent') })).toBeUndefined();
    expect(await read()).toEqual([]);
  });
});
