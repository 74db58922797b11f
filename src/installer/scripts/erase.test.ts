// @module-tag extended: nodes/erasure.test.ts has the orders and the evidence; this runs the script.
/** The erasing scripts, on disks that are files and with drives that are shell functions. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const MEBIBYTE = 1024 * 1024;
const DISK_MIB = 4;
const shell = spawnSync('busybox', ['true']).error ? [] : ['busybox'];

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-erase-'));
  for (const folder of ['tmp', 'dev', 'sys/block', 'sys/devices'])
    mkdirSync(join(dir, folder), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface FakeDisk {
  readonly removable?: true;
  readonly readOnly?: true;
  readonly onUsb?: true;
}

/** As the kernel shows a disk; its content is random, so that whatever is left of it can be recognised. */
function addDisk(name: string, { removable, readOnly, onUsb }: FakeDisk = {}): Buffer {
  const where = join(dir, 'sys/devices', onUsb ? 'usb1' : 'pci0', name);
  mkdirSync(join(where, 'device'), { recursive: true });
  const files = { size: (DISK_MIB * MEBIBYTE) / 512, removable: removable ? 1 : 0, ro: readOnly ? 1 : 0 };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(where, file), `${content}\n`);
  writeFileSync(join(where, 'device/model'), `Model "${name}"   \n`);
  writeFileSync(join(where, 'device/serial'), `SN-${name}\n`);
  symlinkSync(where, join(dir, 'sys/block', name));
  const content = randomBytes(DISK_MIB * MEBIBYTE);
  writeFileSync(join(dir, 'dev', name), content);
  return content;
}

const script = (name: string) =>
  readFileSync(new URL(name, import.meta.url), 'utf8').replaceAll('/tmp/', `${dir}/tmp/`);

/** What surrounds the scripts on a machine, as far as they need it. */
const SURROUNDINGS = `
say() { echo "$*"; }
uptime_seconds() { echo 7; }
load_drivers() { :; }
sleep() { :; }
sync() { :; }
blockdev() { :; }
is_block_device() { [ -e "$(device "$1")" ]; }
report() { echo "$1 $2" >> "$root/reports"; return "$answer"; }
fail() { echo "failed: $1"; printf '%s' "$evidence" > "$root/evidence"; exit 1; }
restart() { exit 3; }
blkdiscard() { return 1; }
wipe() { dd if=/dev/zero of="$1" bs=1M count=${DISK_MIB} conv=notrunc 2> /dev/null; }
`;

const NVME = (abilities: string, format: string) => `
nvme() {
  case $1 in
    id-ctrl) printf '%s\\n' ${abilities} ;;
    format) ${format} ;;
    sanitize) wipe "\${2}n1" && echo 2 > "$root/status" ;;
    sanitize-log)
      echo "Sanitize Progress  (SPROG) :  32768"
      echo "Sanitize Status    (SSTAT) :  0x10$(cat "$root/status")"
      echo 1 > "$root/status"
      ;;
  esac
}
`;

const ATA = (words: string) => `
hdparm() {
  case $* in
    -I*)
      printf 'ATA device\\nSecurity: \\n\\t\\tsupported\\n'
      [ -e "$root/password" ] && printf '\\t\\tenabled\\n' || printf '\\tnot\\tenabled\\n'
      printf '${words}'
      printf 'Checksum: correct\\n'
      ;;
    *set-pass*) touch "$root/password" ;;
    *erase*) echo "$3" >> "$root/erasures"; wipe "$root/dev/sda"; rm "$root/password" ;;
  esac
}
`;

interface Outcome {
  readonly status: number | null;
  readonly output: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which evidence it reads
  readonly evidence: any;
}

function erase(drives: string, { overwrite = 'ends', answer = 0 } = {}): Outcome {
  const text = [
    'set -f; set -o pipefail',
    script('background.sh'),
    script('report.sh'),
    script('erase.sh'),
    script('erase-drive.sh'),
    SURROUNDINGS,
    `root='${dir}' overwrite=${overwrite} answer=${answer} percent=0 evidence='' ENDS_MIB=1 MARKS=8`,
    drives,
    'erase_all',
    `printf '%s' "$evidence" > "$root/evidence"`,
  ].join('\n');
  const run = spawnSync(shell[0] ?? 'sh', [...(shell.length > 0 ? ['sh'] : []), '-c', text], {
    encoding: 'utf8',
  });
  const output = `${run.stdout}${run.stderr}`;
  let evidence = null;
  try {
    evidence = JSON.parse(`{${readFileSync(join(dir, 'evidence'), 'utf8').slice(1)}}`).erase;
  } catch {
    // It stopped before there was any.
  }
  return { status: run.status, output, evidence };
}

const content = (name: string) => readFileSync(join(dir, 'dev', name));
const isZero = (bytes: Buffer) => bytes.equals(Buffer.alloc(bytes.length));

describe('a disk', () => {
  it('of NVMe is formatted, and nothing of it is left', () => {
    addDisk('nvme0n1');
    const { evidence, output } = erase(NVME("'oacs : 0x2' 'sanicap : 0'", 'wipe "$2"'));
    expect(evidence?.disks, output).toEqual([
      {
        name: 'nvme0n1',
        model: 'Model "nvme0n1"',
        serial: 'SN-nvme0n1',
        size_bytes: DISK_MIB * MEBIBYTE,
        method: 'nvme-format',
        result: 'erased',
        verified: 'no partition table; 0 of 9 marks that were written before can be read',
        not_done: '',
        seconds: 0,
      },
    ]);
    expect(isZero(content('nvme0n1'))).toBe(true);
  });

  it('of NVMe is sanitized where it can be, and followed until the drive says that it is', () => {
    addDisk('nvme0n1');
    const { evidence } = erase(NVME("'sanicap : 0x2' 'oacs : 0x2'", 'false'));
    expect(evidence.disks[0]).toMatchObject({ method: 'nvme-sanitize', result: 'erased' });
  });

  it('whose command reports success and does nothing is not trusted', () => {
    addDisk('nvme0n1');
    const { evidence } = erase(NVME("'oacs : 0x2'", 'true'));
    expect(evidence.disks[0]).toMatchObject({
      method: 'overwrite-partial',
      result: 'partial',
      not_done: expect.stringMatching(
        /^nvme-format was carried out and no partition table; 9 of 9 marks .*; the 2 MiB between its ends were not written over$/,
      ),
    });
  });

  it('of ATA is erased by the drive, in the enhanced way where it has one', () => {
    addDisk('sda');
    const enhanced = '\\tnot\\tlocked\\n\\tnot\\tfrozen\\n\\t\\tsupported: enhanced erase\\n';
    expect(erase(ATA(enhanced)).evidence.disks[0]).toMatchObject({
      method: 'ata-enhanced',
      result: 'erased',
    });
    writeFileSync(join(dir, 'dev/sda'), randomBytes(DISK_MIB * MEBIBYTE));
    const plain = '\\tnot\\tlocked\\n\\tnot\\tfrozen\\n\\tnot\\tsupported: enhanced erase\\n';
    expect(erase(ATA(plain)).evidence.disks[0]).toMatchObject({
      method: 'ata-secure-erase',
      result: 'erased',
    });
    expect(readFileSync(join(dir, 'erasures'), 'utf8')).toBe('--security-erase-enhanced\n--security-erase\n');
  });

  it.each([
    ['frozen', '\\t\\tfrozen\\n', /frozen the security/],
    ['locked', '\\t\\tlocked\\n', /locked by a password/],
  ])('of ATA that is %s is written over at its ends, and that is said', (_name, words, why) => {
    const before = addDisk('sda');
    const { evidence, status } = erase(ATA(words));
    expect(evidence.disks[0]).toMatchObject({ result: 'partial', not_done: expect.stringMatching(why) });
    expect(status).toBe(0);
    const after = content('sda');
    expect(isZero(after.subarray(0, MEBIBYTE))).toBe(true);
    expect(isZero(after.subarray(-MEBIBYTE))).toBe(true);
    // What is not claimed: the middle is as it was, but for the marks.
    const middle = [MEBIBYTE + 8192, MEBIBYTE + 12_288] as const;
    expect(after.subarray(...middle).equals(before.subarray(...middle))).toBe(true);
  });

  it('without an erase command is written over as a whole, if that is asked for', () => {
    addDisk('vda');
    const { evidence } = erase('', { overwrite: 'whole' });
    expect(evidence.disks[0]).toMatchObject({
      method: 'overwrite-full',
      result: 'erased',
      not_done: expect.stringContaining('out of reach'),
    });
    expect(isZero(content('vda'))).toBe(true);
  });

  it('that can’t be written to fails the attempt, with what became of the others', () => {
    addDisk('vda');
    addDisk('vdb');
    rmSync(join(dir, 'dev/vda'));
    mkdirSync(join(dir, 'dev/vda'));
    const { status, output, evidence } = erase('');
    expect(status).toBe(1);
    expect(output).toContain('failed: vda: it can not be written to');
    expect(evidence.disks.map(({ result }: { result: string }) => result)).toEqual(['failed', 'partial']);
  });
});

describe('of all disks', () => {
  it('those are left alone, and named, that are not the machine’s to lose', () => {
    const kept = {
      sda: addDisk('sda', { removable: true }),
      sdb: addDisk('sdb', { onUsb: true }),
      sdc: addDisk('sdc', { readOnly: true }),
      loop0: addDisk('loop0'),
      pmem0: addDisk('pmem0'),
    };
    addDisk('vda');
    const { evidence } = erase('');
    expect(evidence.disks.map(({ name }: { name: string }) => name)).toEqual(['vda']);
    expect(evidence.skipped).toEqual([
      { name: 'pmem0', reason: 'not a kind of disk that can be erased here' },
      { name: 'sda', reason: 'removable' },
      { name: 'sdb', reason: 'on USB' },
      { name: 'sdc', reason: 'read-only' },
    ]);
    for (const [name, before] of Object.entries(kept)) expect(content(name).equals(before)).toBe(true);
  });

  it('the progress is reported to the server, and never beyond the end', () => {
    addDisk('vda');
    addDisk('vdb');
    erase('');
    expect(readFileSync(join(dir, 'reports'), 'utf8')).toBe('progress 50\nprogress 100\n');
  });

  it('there must be one', () => {
    addDisk('sda', { removable: true });
    expect(erase('').output).toContain('failed: there is no disk that can be erased');
  });

  it('none is started after the server has refused a report', () => {
    addDisk('vda');
    const second = addDisk('vdb');
    expect(erase('', { answer: 2 }).status).toBe(3);
    expect(content('vdb').equals(second)).toBe(true);
  });
});
