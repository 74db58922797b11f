/**
 * GPUs as the PCI bus shows them, for machines without nvidia-smi: display and 3D controllers and accelerators of NVIDIA
 * and AMD. Their names come from the PCI database of the system, or from a small table, or are "vendor:device".
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface PciGpu {
  readonly vendor: PciVendor;
  readonly model: string;
}

export type PciVendor = keyof typeof VENDORS;

export interface PciOptions {
  readonly devices?: string;
  readonly databases?: readonly string[];
}

const VENDORS = { '10de': 'NVIDIA', '1002': 'AMD' } as const satisfies Record<string, string>;

/** The first two bytes of the class: VGA, 3D, other display controllers, and processing accelerators. */
const CLASSES = ['0300', '0302', '0380', '1200'];

const DEVICES = '/sys/bus/pci/devices';
const DATABASES = ['/usr/share/misc/pci.ids', '/usr/share/hwdata/pci.ids', '/usr/share/pci.ids'];

/** Frequent data center GPUs, for systems without a PCI database. */
const KNOWN: Readonly<Record<string, string>> = {
  '10de:1db1': 'V100 SXM2 16GB',
  '10de:1db4': 'V100 PCIe 16GB',
  '10de:1eb8': 'T4',
  '10de:20b0': 'A100 SXM4 40GB',
  '10de:20b2': 'A100 SXM4 80GB',
  '10de:20b5': 'A100 PCIe 80GB',
  '10de:20f1': 'A100 PCIe 40GB',
  '10de:2235': 'A40',
  '10de:2236': 'A10',
  '10de:2330': 'H100 SXM5 80GB',
  '10de:2331': 'H100 PCIe',
  '10de:2335': 'H200 SXM 141GB',
  '10de:26b5': 'L40',
  '10de:26b9': 'L40S',
  '10de:27b8': 'L4',
  '1002:738c': 'Instinct MI100',
  '1002:740c': 'Instinct MI250X/MI250',
  '1002:740f': 'Instinct MI210',
  '1002:74a1': 'Instinct MI300X',
};

/** Undefined if there is no PCI bus, which is not the same as no GPUs. */
export async function readPciGpus({
  devices = DEVICES,
  databases = DATABASES,
}: PciOptions = {}): Promise<PciGpu[] | undefined> {
  const ids = await readdir(devices).catch(() => null);
  if (ids === null) return undefined;
  const found: { vendor: PciVendor; device: string }[] = [];
  for (const id of ids.sort()) {
    const gpu = await readDevice(join(devices, id));
    if (gpu !== null) found.push(gpu);
  }
  if (found.length === 0) return [];
  const names = await readNames(databases, new Set(found.map(({ vendor, device }) => `${vendor}:${device}`)));
  return found.map(({ vendor, device }) => {
    const key = `${vendor}:${device}`;
    const name = names.get(key) ?? KNOWN[key];
    return { vendor, model: name === undefined ? key : `${VENDORS[vendor]} ${name}` };
  });
}

/** Null: not a GPU of these vendors, or a virtual function of one. */
async function readDevice(folder: string): Promise<{ vendor: PciVendor; device: string } | null> {
  const number = async (file: string): Promise<string> =>
    (await readFile(join(folder, file), 'latin1').catch(() => '')).trim().replace(/^0x/i, '').toLowerCase();
  const vendor = await number('vendor');
  if (!isVendor(vendor)) return null;
  const deviceClass = await number('class');
  if (!CLASSES.includes(deviceClass.slice(0, 4)) || existsSync(join(folder, 'physfn'))) return null;
  return { vendor, device: await number('device') };
}

function isVendor(text: string): text is PciVendor {
  return Object.hasOwn(VENDORS, text);
}

/** The database: a vendor at the start of a line, its devices after a tab, with the product name in brackets. */
async function readNames(
  files: readonly string[],
  wanted: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const file = files.find(existsSync);
  const text = file === undefined ? '' : await readFile(file, 'utf8').catch(() => '');
  let vendor = '';
  for (const line of text.split('\n')) {
    const owner = /^([0-9a-f]{4})\s/.exec(line)?.[1];
    if (owner !== undefined) vendor = owner;
    const [, device, name = ''] = /^\t([0-9a-f]{4})\s+(.*\S)\s*$/.exec(line) ?? [];
    if (device === undefined || !wanted.has(`${vendor}:${device}`)) continue;
    names.set(`${vendor}:${device}`, /\[([^\]]+)\]\s*$/.exec(name)?.[1] ?? name);
  }
  return names;
}
