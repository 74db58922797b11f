import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGpuReader } from './gpus.ts';

const never = new AbortController().signal;
let folder = '';
let made = 0;

/** A stand-in for nvidia-smi: a shell script. */
function tool(script: string): string {
  made += 1;
  const file = join(folder, `nvidia-smi-${made}`);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-gpus-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('GPUs', () => {
  it('are none where there is no tool', async () => {
    expect(await createGpuReader({ command: join(folder, 'absent') })(never)).toEqual({ count: 0, free: 0 });
  });

  it('are free while no compute process runs on them', async () => {
    const command = tool(`case "$1" in
      --query-gpu=uuid) printf 'GPU-aaaa-1\\nGPU-bbbb-2\\nGPU-cccc-3\\n' ;;
      --query-compute-apps=gpu_uuid) printf 'GPU-bbbb-2\\nGPU-bbbb-2\\n' ;;
      *) exit 3 ;;
    esac`);
    expect(await createGpuReader({ command })(never)).toEqual({ count: 3, free: 2 });
  });

  it('are none when the tool finds none', async () => {
    expect(await createGpuReader({ command: tool('echo No devices were found') })(never)).toEqual({
      count: 0,
      free: 0,
    });
  });

  it.each([
    ['fails', 'echo "GPU-aaaa-1"; exit 9'],
    ['fails at the second question', 'case "$1" in --query-gpu*) echo GPU-aaaa-1 ;; *) exit 9 ;; esac'],
    ['floods', 'exec yes GPU-aaaa-1'],
  ])('are unknown when the tool %s', async (_what, script) => {
    expect(await createGpuReader({ command: tool(script) })(never)).toBeUndefined();
  });

  it('are unknown when the tool hangs, and the next question is answered again', async () => {
    const command = tool(`if [ -e ${folder}/healed ]; then echo No devices; else exec sleep 60; fi`);
    const read = createGpuReader({ command, timeLimitMs: 100 });
    expect(await read(never)).toBeUndefined();
    writeFileSync(join(folder, 'healed'), '');
    await expect.poll(() => read(never)).toEqual({ count: 0, free: 0 });
  });

  it('are not waited for when the agent stops', async () => {
    const stop = new AbortController();
    const reading = createGpuReader({ command: tool('exec sleep 60'), timeLimitMs: 60_000 })(stop.signal);
    stop.abort();
    expect(await reading).toBeUndefined();
  });
});
