// @module-tag extended: command-table.test.ts has the commands and their flags; this completes them in three shells.
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
        'attach',
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
    [['list', '--sort', 'ph'], ['phase']],
    [['list', '--sort', '-ph'], ['-phase']],
    [['ops', '--columns', 'machine_id,ty'], ['machine_id,type']],
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

  it('asks for what begins as typed, so that a large fleet is completed too', async () => {
    const listing = `ingot() { [[ "$*" == 'list --filter machine_id=web-r1* --limit 200 -o name' ]] && printf '%s\\n' web-r11 web-r12; }`;
    const script = `${listing}\n${await scriptOf('bash')}`;
    for (const words of [
      ['show', 'web-r1'],
      ['machine', 'reboot', 'web-r1'],
      ['ops', '-m', 'web-r1'],
    ])
      expect(complete(script, words)).toEqual(['web-r11', 'web-r12']);
  });

  it('knows the names of every noun, and offers none for a new one', { tags: ['extended'] }, async () => {
    const listing = `ingot() { [[ "$*" == *'list -o name' ]] && printf '%s\\n' "$1-1"; }`;
    const script = `${listing}\n${await scriptOf('bash')}`;
    for (const noun of ['token', 'image', 'workflow', 'pool', 'budget', 'provider', 'view'])
      expect(complete(script, [noun, 'show', ''])).toEqual([`${noun}-1`]);
    expect(complete(script, ['hardware', 'profile', 'delete', ''])).toEqual(['hardware-1']);
    expect(complete(script, ['token', 'create', ''])).toEqual([]);
  });

  it('completes labels and their values', async () => {
    const suggesting = `ingot() { case "$2" in labels.ra) echo labels.rack ;; labels.rack=) printf '%s\\n' labels.rack=r11 'labels.rack=*' ;; esac; }`;
    const script = `${suggesting}\n${await scriptOf('bash')}`;
    expect(complete(script, ['list', '-l', 'ra'])).toEqual(['rack']);
    expect(complete(script, ['list', '-l', 'rack', '='])).toEqual(['r11']);
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

  it.skipIf(zsh.isMissing)(zsh.title('zsh offers ids and labels of the server'), async () => {
    const offered = (...words: readonly string[]) => {
      const ask = `
compadd() { while [[ "$1" == -* && "$1" != -- ]]; do shift; [[ "$1" == '' ]] && shift; done; shift; print -l -- "$@"; }
compdef() { : }
compset() { : }
ingot() { case "$*" in *'machine_id=web-'*) print -l web-1 web-2 ;; 'suggest labels.ra') print labels.rack ;; esac }`;
      const line = `words=(ingot ${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length + 1}; _ingot_completion`;
      return spawnSync('env', ['zsh', '-f'], { input: `${ask}\n${zshScript}\n${line}\n`, encoding: 'utf8' })
        .stdout.split('\n')
        .filter((word) => word !== '');
    };
    const zshScript = await scriptOf('zsh');
    expect(offered('show', 'web-')).toEqual(['web-1', 'web-2']);
    expect(offered('list', '-l', 'ra')).toEqual(['rack']);
    expect(offered('token', 'cr')).toContain('create');
  });

  const fish = needs('fish');
  it.skipIf(fish.isMissing)(fish.title('fish offers ids and labels of the server'), async () => {
    const asked = `
function ingot
  switch "$argv"
    case '*machine_id=web-*'; printf '%s\\n' web-1 web-2
    case 'suggest labels.ra'; echo labels.rack
  end
end`;
    const offered = (line: string) =>
      spawnSync('sh', ['-c', 'cat | fish --no-config'], {
        input: `${asked}\n${fishScript}\ncomplete -C '${line}'\n`,
        encoding: 'utf8',
      })
        .stdout.split('\n')
        .map((word) => word.split('\t')[0])
        .filter((word) => word !== '');
    const fishScript = await scriptOf('fish');
    expect(offered('ingot show web-')).toEqual(['web-1', 'web-2']);
    expect(offered('ingot list -l ra')).toEqual(['rack']);
    expect(offered('ingot token cr')).toEqual(['create']);
  });

  it.skipIf(fish.isMissing)(fish.title('fish takes its script'), async () => {
    // A pipe, as in a shell: fish can't read its script from a socket.
    expect(spawnSync('sh', ['-c', 'cat | fish -n'], { input: await scriptOf('fish') }).status).toBe(0);
  });
});
