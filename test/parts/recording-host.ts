/** A host on whose PATH programs record how they were called, in place of doing what they are for. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RecordingHost {
  /** For the sshd that is its way in. */
  readonly env: Readonly<Record<string, string>>;
  /** "kubeadm upgrade node", in the order of the calls. */
  calls(): string[];
  forgetCalls(): void;
  /** The program does not return until it is released. */
  hold(program: string): void;
  letGo(program: string): void;
  /** With what it ends from now on. */
  exitWith(program: string, code: number): void;
  /** As if it had never been installed. */
  removeProgram(program: string): void;
  installProgram(program: string): void;
  remove(): void;
}

/** Held while its file is there, for a minute at most: a test that fails leaves nothing behind that runs on. */
const SCRIPT = `#!/bin/sh
name=$(basename "$0")
echo "$name $*" >> "$RECORDING_HOST/calls"
n=0
while [ -e "$RECORDING_HOST/hold-$name" ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done
echo "$name was called"
exit "$(cat "$RECORDING_HOST/exit-$name" 2>/dev/null || echo 0)"
`;

export function createRecordingHost(programs: readonly string[]): RecordingHost {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-recording-host-'));
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  const installProgram = (program: string) => {
    writeFileSync(join(bin, program), SCRIPT);
    chmodSync(join(bin, program), 0o755);
  };
  for (const program of programs) installProgram(program);
  const calls = join(dir, 'calls');
  return {
    env: { RECORDING_HOST: dir, PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin` },
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []),
    forgetCalls: () => rmSync(calls, { force: true }),
    hold: (program) => writeFileSync(join(dir, `hold-${program}`), ''),
    letGo: (program) => rmSync(join(dir, `hold-${program}`), { force: true }),
    exitWith: (program, code) => writeFileSync(join(dir, `exit-${program}`), String(code)),
    removeProgram: (program) => rmSync(join(bin, program), { force: true }),
    installProgram,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
