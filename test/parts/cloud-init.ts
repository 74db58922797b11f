/** Debian's cloud-init, unpacked and not installed: what its data source NoCloud reads from a seed. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debianFiles, runDebian } from './debian-files.ts';

const PYTHON_MODULES = [
  'attr',
  'certifi',
  'chardet',
  'charset-normalizer',
  'configobj',
  'idna',
  'jinja2',
  'json-pointer',
  'jsonpatch',
  'jsonschema',
  'markupsafe',
  'netifaces',
  'oauthlib',
  'pyrsistent',
  'requests',
  'serial',
  'six',
  'urllib3',
  'yaml',
];
const PACKAGES = ['cloud-init', 'libyaml-0-2', ...PYTHON_MODULES.map((name) => `python3-${name}`)];

/** `partition` is searched for by its label, as a device; `files` are what a kernel has read from it. */
export async function readByNoCloud(
  partition: Buffer,
  files: Readonly<Record<string, string>>,
): Promise<unknown> {
  const debian = await debianFiles('cloud-init', PACKAGES);
  if (typeof debian === 'string') return debian;
  const dir = mkdtempSync(join(tmpdir(), 'ingot-nocloud-'));
  try {
    mkdirSync(join(dir, 'files'));
    writeFileSync(join(dir, 'partition'), partition);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, 'files', name), text);
    const script = fileURLToPath(new URL('nocloud.py', import.meta.url));
    const args = [script, join(dir, 'partition'), join(dir, 'files')];
    return JSON.parse(runDebian(debian, '/usr/bin/python3', args));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
