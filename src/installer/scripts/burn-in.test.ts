// @module-tag extended: hardware/burn-in.test.ts has the orders; this runs the script.
/** The burn-in script, on a machine that is files and shell functions. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const shell = spawnSync('busybox', ['true']).error ? [] : ['busybox'];
const MIB = 1024 * 1024;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-burn-in-'));
  for (const folder of ['tmp', 'dev', 'proc', 'sys/block', 'sys/bus/pci/devices'])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, 'proc/cpuinfo'), 'processor\t: 0\nprocessor\t: 1\n');
  writeFileSync(join(dir, 'proc/meminfo'), 'MemTotal: 65536 kB\nMemAvailable: 12288 kB\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function addDisk(name: string): void {
  const where = join(dir, 'sys/block', name);
  mkdirSync(join(where, 'device'), { recursive: true });
  for (const [file, text] of Object.entries({
    size: 8192,
    ro: 0,
    removable: 0,
    'device/serial': `SN-${name}`,
  }))
    writeFileSync(join(where, file), `${text}\n`);
  writeFileSync(join(dir, 'dev', name), Buffer.alloc(4 * MIB));
}

function addGpu(address: string, fields: Readonly<Record<string, string>>): void {
  const where = join(dir, 'sys/bus/pci/devices', address);
  mkdirSync(where);
  for (const [file, text] of Object.entries({ class: '0x030200', vendor: '0x10de', ...fields }))
    writeFileSync(join(where, file), `${text}\n`);
}

const script = (name: string) =>
  readFileSync(new URL(name, import.meta.url), 'utf8').replaceAll('/tmp/', `${dir}/tmp/`);

/** What surrounds the script on a machine, as far as it needs it. */
const SURROUNDINGS = `
say() { :; }
uptime_seconds() { date +%s; }
is_device() { [ -e "$burn_root/dev/$1" ]; }
disk_transport() { echo sata; }
dmesg() { :; }
taskset() { shift 2; "$@"; }
report() { echo "$1 $2" >> "$burn_root/reports"; return 0; }
mount() { :; }
umount() { :; }
fail() { echo "failed: $1"; exit 1; }
restart() { exit 3; }
`;

interface Result {
  readonly test: string;
  readonly part: string;
  readonly result: string;
  readonly detail: string;
}

function burnIn(tests: string, changes = '', seconds = '1'): { results: Result[]; output: string } {
  const text = [
    'set -f; set -o pipefail 2> /dev/null',
    ...['report.sh', 'disk.sh', 'burn-in.sh'].map(script),
    SURROUNDINGS,
    `burn_root='${dir}' SYSFS='${dir}/sys' PROCFS='${dir}/proc' burn_tests=${tests} burn_seconds=${seconds}`,
    "disk_usb=no percent=0 evidence='' BURN_BLOCK_MIB=1 BURN_REPORT_EVERY=0.2",
    changes,
    'burn_in',
    `printf '%s' "$evidence" > "$burn_root/evidence"`,
  ].join('\n');
  const args = [...(shell.length > 0 ? ['sh'] : []), '-c', text];
  const run = spawnSync(shell[0] ?? 'sh', args, { encoding: 'utf8' });
  const output = `${run.stdout}${run.stderr}`;
  try {
    const { burn_in: found } = JSON.parse(`{${readFileSync(join(dir, 'evidence'), 'utf8').slice(1)}}`);
    return { results: found.results, output };
  } catch {
    // It stopped before there was any.
    return { results: [], output };
  }
}

const without = ({ test, part, result }: Result) => [test, part, result];

describe('a burn-in', () => {
  it('has the copies in memory apart from the results, which a full /tmp would lose', () => {
    burnIn('memory', `mount() { echo "$*" >> '${dir}/mounts'; }`);
    const mounts = readFileSync(join(dir, 'mounts'), 'utf8');
    expect(mounts).toMatch(/^-t tmpfs -o size=\d+m,mode=700 memory \S+\/tmp\/burn\/memory\n$/);
  });

  it('tests every part at once, within its time, and says what it did', () => {
    addDisk('sda');
    addDisk('nvme0n1');
    addGpu('0000:17:00.0', { current_link_width: '16', max_link_width: '16' });
    const started = Date.now();
    const { results, output } = burnIn('cpu,memory,disk,gpu');
    expect(Date.now() - started).toBeLessThan(8_000);
    expect(results.map(without).toSorted(), output).toEqual(
      [
        ['cpu', '2 processors', 'passed'],
        ['memory', 'memory', 'passed'],
        ['disk', 'sda (serial SN-sda)', 'passed'],
        ['disk', 'nvme0n1 (serial SN-nvme0n1)', 'passed'],
        ['gpu', '0000:17:00.0', 'passed'],
      ].toSorted(),
    );
    expect(results.find(({ test }) => test === 'memory')?.detail).toMatch(/^\d MiB compared \d+ times$/);
    expect(results.find(({ test }) => test === 'disk')?.detail).toBe('4 of 4 MiB read');
    expect(readFileSync(join(dir, 'reports'), 'utf8')).toContain('progress');
  });

  it('writes to no disk', () => {
    addDisk('sda');
    writeFileSync(join(dir, 'dev/sda'), 'what is on it');
    burnIn('disk');
    expect(readFileSync(join(dir, 'dev/sda'), 'utf8')).toBe('what is on it');
  });

  it.each([
    [
      'cpu',
      'taskset() { if [ "$2" = 1 ]; then echo wrong; else shift 2; "$@"; fi; }',
      ['cpu', 'processor 1', 'failed'],
      /another digest/,
    ],
    [
      'cpu',
      "dmesg() { echo 'mce: [Hardware Error]: CPU 3'; }",
      ['cpu', 'processors', 'failed'],
      /1 machine checks/,
    ],
    [
      'memory',
      'cp() { command cp "$@"; case $2 in */0) echo x >> "$2" ;; esac; }',
      ['memory', 'memory', 'failed'],
      /copy 0 of \d/,
    ],
    [
      'memory',
      'burn_modules() { echo "DIMM_A1 $(date +%s%N | cut -c 1-13) 0"; }',
      ['memory', 'DIMM_A1', 'failed'],
      /corrected/,
    ],
    [
      'disk',
      'dd() { case $* in *dev/sda*) echo "dd: sda: Input/output error" >&2; return 1 ;; *) command dd "$@" ;; esac; }',
      ['disk', 'sda (serial SN-sda)', 'failed'],
      /reading failed at 0 MiB: .*Input\/output error/,
    ],
  ])('names the part that fails its test of %s', (test, changes, wanted, detail) => {
    addDisk('sda');
    const { results, output } = burnIn(test, changes);
    expect(results.map(without), output).toEqual([wanted]);
    expect(results[0]?.detail).toMatch(detail);
  });

  it.each([
    [{ current_link_width: '8', max_link_width: '16' }, /8 of 16 lanes/],
    [{ aer_dev_fatal: 'TOTAL_ERR_FATAL 2' }, /counts 2 errors/],
    [{ vendor: '0xffff' }, /./],
  ])('a GPU with %j does not pass', (fields, detail) => {
    addGpu('0000:17:00.0', fields);
    const { results } = burnIn('gpu');
    expect(results.some(({ result }) => result === 'passed')).toBe(false);
    expect(results[0]?.detail).toMatch(detail);
  });

  it('what can not be tested is skipped, and the display of a BMC is no GPU', () => {
    addGpu('0000:03:00.0', { class: '0x030000', vendor: '0x1a03' });
    expect(burnIn('disk,gpu').results.map(without).toSorted()).toEqual([
      ['disk', 'disks', 'skipped'],
      ['gpu', 'GPUs', 'skipped'],
    ]);
  });

  it('without a time limit does not start', () => {
    expect(burnIn('cpu', '', "''").output).toContain('failed: not a time limit');
  });
});
