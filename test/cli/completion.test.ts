import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { needs } from '../parts/debian-packages.ts';
import { useFakeServer } from './harness.ts';

const cli = useFakeServer();

async function scriptOf(shell: string, program = 'ingot'): Promise<string> {
  const { code, stdout, stderr } = await cli.run(`completion ${shell}`, { program });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** What bash itself offers after the script is loaded. */
function complete(script: string, words: readonly string[], program = 'ingot'): string[] {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const ask = `
COMP_WORDS=(${program} ${quoted}); COMP_CWORD=${words.length}
$(complete -p ${program} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%s\\n' "\${COMPREPLY[@]}"`;
  // The script is longer than one argument may be.
  const input = `${script}\n${ask}`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-s'], { encoding: 'utf8', input });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

describe('bash completion', () => {
  it('is valid bash', async () => {
    expect(spawnSync('bash', ['-n'], { input: await scriptOf('bash') }).status).toBe(0);
  });

  it('offers the commands that begin with a word', async () => {
    const offered = complete(await scriptOf('bash'), ['re']);
    expect(offered).toEqual(['register', 'reboot', 'reimage', 'remove']);
  });

  it.each([
    [
      ['op', ''],
      [
        'show',
        'get',
        'list',
        'watch',
        'logs',
        'cancel',
        'approve',
        'reject',
        'retry-stage',
        'resume',
        'rerun',
        'restart-clean',
        'adopt',
        'hold',
      ],
    ],
    [['operation', 'c'], ['cancel']],
    [
      ['run', ''],
      ['show', 'get', 'start', 'list', 'watch', 'attach', 'logs', 'cancel'],
    ],
    [
      ['run', 'start', 'machine-1', '--type', 'R'],
      ['REPAVE', 'RMA', 'REBOOT'],
    ],
    [
      ['plan', ''],
      ['show', 'get', 'list', 'create'],
    ],
    [
      ['rollout', 're'],
      ['resume', 'reject', 'retry'],
    ],
    [['rollout', 'start', '--stop-s'], ['--stop-same-error']],
    [
      ['rollout', 'start', '--gate', ''],
      ['automatic', 'approval', 'second-person'],
    ],
    [['plan', 'create', '--f'], ['--file']],
    [
      ['list', '-o', 'j'],
      ['json', 'jsonl'],
    ],
    [['list', '--output', '=', 'y'], ['yaml']],
    [
      ['list', '--output', '='],
      ['table', 'wide', 'json', 'jsonl', 'yaml', 'name'],
    ],
    [['reimage', 'machine-1', '--im'], ['--image']],
    [['reboot', '--im'], []],
    [['reboot', '--no'], ['--no-wait']],
    [['reboot', '--ser'], ['--server']],
    [
      ['flag', 'machine-1', 'r'],
      ['rma', 'retired'],
    ],
    [
      ['token', 'create', 'ci', '--role', ''],
      ['viewer', 'operator', 'admin'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('offers for %j', { tags: ['extended'] }, async (words, offered) => {
    expect(complete(await scriptOf('bash'), words)).toEqual(offered);
  });

  it('offers the rollouts that the server has where an id is meant, and none without a server', {
    tags: ['extended'],
  }, async () => {
    const script = await scriptOf('bash');
    const program =
      'ingot() { [[ "$*" == "rollout list --limit 100 -o name" ]] && printf "ro-1\\nro-2\\n"; }';
    expect(complete(`${script}\n${program}`, ['rollout', 'show', 'ro-'])).toEqual(['ro-1', 'ro-2']);
    expect(complete(`${script}\n${program}`, ['rollout', 'pause', 'ro-2'])).toEqual(['ro-2']);
    expect(complete(`${script}\ningot() { return 1; }`, ['rollout', 'show', ''])).toEqual([]);
  });

  it('completes a filter with what the program suggests, in quotes and without', {
    tags: ['extended'],
  }, async () => {
    const suggesting = `ingot() { [[ "$1 $2" == "suggest $want" ]] && printf '%s\\n' phase=READY 'phase=RMA AND'; }`;
    const offered = async (want: string, words: readonly string[]) =>
      complete(`want='${want}'\n${suggesting}\n${await scriptOf('bash')}`, words);
    expect(await offered('phase=R', ['list', '--filter', 'phase', '=', 'R'])).toEqual(['READY']);
    expect(await offered('phase=', ['list', '--filter', 'phase', '='])).toEqual(['READY']);
    expect(await offered('phase=R', ['list', '--filter', '=', 'phase', '=', 'R'])).toEqual(['READY']);
    expect(await offered('phase=R', ['list', '--filter', '"phase=R'])).toEqual([
      'phase=READY',
      'phase=RMA AND',
    ]);
    expect(await offered('ph', ['list', '--filter', 'ph'])).toEqual(['phase=READY']);
  });

  it('asks the server for the values of an option', { tags: ['extended'] }, async () => {
    const listing = `ingot() { [[ "$*" == 'image list -o name' ]] && printf '%s\\n' ubuntu-2204 debian-12; }`;
    const script = `${listing}\n${await scriptOf('bash')}`;
    expect(complete(script, ['reimage', 'machine-1', '--image', 'u'])).toEqual(['ubuntu-2204']);
  });

  it('is for the program by the name it has', { tags: ['extended'] }, async () => {
    expect(complete(await scriptOf('bash', 'bmdemo-cli'), ['imp'], 'bmdemo-cli')).toEqual(['import']);
  });
});

describe('the other shells', () => {
  it('have scripts that name the commands, options and values', async () => {
    for (const shell of ['zsh', 'fish']) {
      const script = await scriptOf(shell);
      for (const word of ['enter-maintenance', 'request-id', 'jsonl', 'token'])
        expect(script).toContain(word);
    }
  });

  const zsh = needs('zsh');
  it.skipIf(zsh.isMissing)(zsh.title('zsh takes its script'), async () => {
    expect(spawnSync('env', ['zsh', '-n'], { input: await scriptOf('zsh') }).status).toBe(0);
  });

  const fish = needs('fish');
  it.skipIf(fish.isMissing)(fish.title('fish takes its script'), async () => {
    // A pipe, as in a shell: fish can't read its script from a socket.
    expect(spawnSync('sh', ['-c', 'cat | fish -n'], { input: await scriptOf('fish') }).status).toBe(0);
  });
});
