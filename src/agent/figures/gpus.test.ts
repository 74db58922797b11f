import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGpuReaders } from './gpus.ts';

const never = new AbortController().signal;
let folder = '';
let made = 0;
let bus = '';

/** A stand-in for nvidia-smi: a shell script. */
function tool(script: string): string {
  made += 1;
  const file = join(folder, `nvidia-smi-${made}`);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-gpus-'));
  bus = join(folder, 'devices');
  mkdirSync(bus);
});

const NONE = { count: 0, free: 0, models: [] };

function readers(command: string, timeLimitMs = 5000) {
  return createGpuReaders({ command, timeLimitMs, pci: { devices: bus, databases: [] } });
}

function plug(slot: string, vendor: string, device: string, kind: string): void {
  const place = join(bus, slot);
  mkdirSync(place);
  for (const [file, text] of Object.entries({ vendor, device, class: kind }))
    writeFileSync(join(place, file), `0x${text}\n`);
}

afterEach(() => {
  rmSync(bus, { recursive: true });
  mkdirSync(bus);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('GPUs', () => {
  it('are none where there is no tool and none on the bus', async () => {
    expect(await readers(join(folder, 'absent')).now(never)).toEqual(NONE);
  });

  it('are those on the bus where there is no tool; how many are free is unknown', async () => {
    plug('0000:07:00.0', '10de', '2330', '030200');
    plug('0000:08:00.0', '10de', '2330', '030200');
    plug('0000:03:00.0', '1a03', '2000', '030000');
    expect(await readers(join(folder, 'absent')).now(never)).toEqual({
      count: 2,
      free: undefined,
      models: [{ model: 'NVIDIA H100 SXM5 80GB', count: 2 }],
    });
  });

  it('of another vendor are found beside a tool that finds none of its own', async () => {
    plug('0000:07:00.0', '1002', '74a1', '120000');
    expect(await readers(tool('echo No devices were found')).now(never)).toMatchObject({
      count: 1,
      models: [{ model: 'AMD Instinct MI300X', count: 1 }],
    });
  });

  it('are registered as the bus shows them while the tool fails, and unknown with a keepalive', async () => {
    plug('0000:07:00.0', '10de', '20b2', '030200');
    const { now, registered } = readers(tool('exit 9'));
    expect(await now(never)).toBeUndefined();
    expect(await registered(never)).toMatchObject({ count: 1, models: [{ model: 'NVIDIA A100 SXM4 80GB' }] });
  });

  it('are free while no compute process runs on them', async () => {
    const command = tool(`case "$1" in
      --query-gpu=uuid,name)
        printf 'GPU-aaaa-1, NVIDIA H100 80GB HBM3\\nGPU-bbbb-2, NVIDIA H100 80GB HBM3\\nGPU-cccc-3, NVIDIA L4\\n' ;;
      --query-compute-apps=gpu_uuid) printf 'GPU-bbbb-2\\nGPU-bbbb-2\\n' ;;
      *) exit 3 ;;
    esac`);
    expect(await readers(command).now(never)).toEqual({
      count: 3,
      free: 2,
      models: [
        { model: 'NVIDIA H100 80GB HBM3', count: 2 },
        { model: 'NVIDIA L4', count: 1 },
      ],
    });
  });

  it('are none when the tool finds none', async () => {
    expect(await readers(tool('echo No devices were found')).now(never)).toEqual(NONE);
  });

  it.each([
    ['fails', 'echo "GPU-aaaa-1"; exit 9'],
    ['fails at the second question', 'case "$1" in --query-gpu*) echo GPU-aaaa-1 ;; *) exit 9 ;; esac'],
    ['floods', 'exec yes GPU-aaaa-1'],
  ])('are unknown when the tool %s', async (_what, script) => {
    expect(await readers(tool(script)).now(never)).toBeUndefined();
  });

  it('are unknown when the tool hangs, and the next question is answered again', async () => {
    const command = tool(`if [ -e ${folder}/healed ]; then echo No devices; else exec sleep 60; fi`);
    const { now: read } = readers(command, 100);
    expect(await read(never)).toBeUndefined();
    writeFileSync(join(folder, 'healed'), '');
    await expect.poll(() => read(never)).toEqual(NONE);
  });

  it('are not waited for when the agent stops', async () => {
    const stop = new AbortController();
    const reading = readers(tool('exec sleep 60'), 60_000).now(stop.signal);
    stop.abort();
    expect(await reading).toBeUndefined();
  });
});
