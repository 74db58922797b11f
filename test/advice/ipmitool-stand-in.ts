/** The real ipmitool, until a test makes a BMC return a rare error. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface IpmitoolStandIn {
  /** The BMC at this endpoint answers so from now on. */
  answer(endpoint: string, words: string): void;
  repair(endpoint: string): void;
  /** As on a server on which it is not installed, or can't be started. */
  take(how: 'away' | 'into a loop'): void;
  putBack(): void;
  stop(): void;
}

/** For every program that this process starts. */
export function standInForIpmitool(): IpmitoolStandIn {
  const found = spawnSync('sh', ['-c', 'command -v ipmitool'], { encoding: 'utf8' }).stdout.trim();
  const folder = mkdtempSync(join(tmpdir(), 'ingot-ipmitool-'));
  const program = join(folder, 'bin', 'ipmitool');
  const answerOf = (endpoint: string) => join(folder, `answer-${endpoint.split(':').at(-1)}`);
  mkdirSync(join(folder, 'bin'));
  const putBack = () => {
    rmSync(program, { force: true });
    const script = `#!/bin/sh
for word; do [ "$before" = -p ] && port=$word; before=$word; done
[ -s "${folder}/answer-$port" ] && { cat "${folder}/answer-$port" >&2; exit 1; }
exec "${found}" "$@"
`;
    writeFileSync(program, script, { mode: 0o755 });
    process.env.PATH = `${alone}:${path}`;
  };
  const path = process.env.PATH;
  const alone = join(folder, 'bin');
  putBack();
  return {
    answer: (endpoint, words) => writeFileSync(answerOf(endpoint), `${words}\n`),
    repair: (endpoint) => rmSync(answerOf(endpoint), { force: true }),
    take: (how) => {
      rmSync(program);
      process.env.PATH = alone;
      if (how === 'into a loop') symlinkSync('ipmitool', program);
    },
    putBack,
    stop: () => {
      process.env.PATH = path;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
