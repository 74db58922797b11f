import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Database } from '../../store/database/database.ts';
import { readPlanFiles, storePlanFiles } from './plan-files.ts';
import { SettingError } from './settings.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ingot-test-plans-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, ...lines: string[]): string {
  const file = join(directory, name);
  writeFileSync(file, lines.join('\n'));
  return file;
}

function writePlan(name: string, planId: string, displayName = planId): string {
  return write(
    name,
    `plan_id: ${planId}`,
    `display_name: ${displayName}`,
    'steps:',
    '  - name: go',
    '    reboot: {}',
  );
}

/** Of a directory that must be refused: the one line that an operator sees. */
function problemIn(path: string): string {
  try {
    readPlanFiles(path);
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
  throw new Error('it was read');
}

describe('a directory of plans', () => {
  it('is read whole, JSON and YAML, and nothing else in it', () => {
    write(
      'b.yaml',
      '# The night shift’s plan.',
      'plan_id: from-yaml',
      'steps:',
      '  - name: uptime',
      '    max_retries: 3',
      '    ssh:',
      '      command: |',
      '        uptime',
      '        true',
      '      repeatable: true',
    );
    write(
      'a.json',
      '{ "plan_id": "from-json", "display_name": "J", "steps": [{ "name": "n", "netboot": { "mode": "DISK" } }] }',
    );
    writePlan('c.yml', 'from-yml');
    write('README.md', 'not: [a plan');
    write('d.yaml.bak', 'not: [a plan');
    mkdirSync(join(directory, 'old'));
    const files = readPlanFiles(directory);
    expect(files.map(({ file, plan }) => [file, plan.planId])).toEqual([
      [join(directory, 'a.json'), 'from-json'],
      [join(directory, 'b.yaml'), 'from-yaml'],
      [join(directory, 'c.yml'), 'from-yml'],
    ]);
    expect(files.map(({ line }) => line)).toEqual([1, 2, 1]);
    expect(files[1]?.plan).toEqual({
      planId: 'from-yaml',
      displayName: 'from-yaml',
      steps: [
        {
          name: 'uptime',
          kind: 'ssh',
          config: { command: 'uptime\ntrue\n', check: '', repeatable: true },
          timeoutSeconds: null,
          maxRetries: 3,
        },
      ],
    });
  });

  it('may be empty, or none at all', () => {
    expect(readPlanFiles(directory)).toEqual([]);
    expect(readPlanFiles(null)).toEqual([]);
  });

  it('that is missing, or not a directory, is a problem that names it', () => {
    const missing = join(directory, 'missing');
    expect(problemIn(missing)).toBe(`INGOT_PLANS_DIR: ${missing}: can't be read (ENOENT)`);
    const file = write('file.txt', '');
    expect(problemIn(file)).toBe(`INGOT_PLANS_DIR: ${file}: can't be read (ENOTDIR)`);
  });

  it('with a directory that is called like a plan is a problem that names it', () => {
    mkdirSync(join(directory, 'x.yaml'));
    expect(problemIn(directory)).toContain(`${join(directory, 'x.yaml')}: can't be read (EISDIR)`);
  });

  it('with one id in two files names both, and the line', () => {
    const first = writePlan('a.yaml', 'twin');
    write('b.json', '{', '  "steps": [{ "name": "n", "reboot": {} }],', '  "plan_id": "twin"', '}');
    expect(problemIn(directory)).toBe(
      `INGOT_PLANS_DIR: ${join(directory, 'b.json')}: line 3: plan_id twin is in ${first} too`,
    );
  });
});

describe('a wrong file is named with line and reason:', () => {
  it.each<[what: string, line: number, says: RegExp, text: string[]]>([
    ['invalid YAML', 3, /: Flow sequence .* end with a \]$/, ['plan_id: p', 'steps: [', '']],
    ['a tab for indentation', 3, /tab/i, ['plan_id: p', 'steps:', '\t- name: a', '\t  reboot: {}']],
    ['a key for the second time', 2, /unique/i, ['plan_id: p', 'plan_id: q', 'steps: []']],
    [
      'two documents',
      4,
      /documents/i,
      ['plan_id: p', 'steps:', '  - { name: a, reboot: {} }', '---', 'a: b'],
    ],
    ['an empty file', 1, /the plan: /, ['']],
    ['only a comment', 1, /the plan: /, ['# later']],
    ['a list', 1, /the plan: /, ['- plan_id: p']],
    ['an alias that leads nowhere', 1, /alias/i, ['plan_id: p', 'steps: *nowhere']],
    ['no id', 1, /plan_id: /, ['steps:', '  - name: a', '    reboot: {}']],
    ['a bad id', 1, /plan_id: must be/, ['plan_id: a b', 'steps:', '  - name: a', '    reboot: {}']],
    ['a number for an id', 1, /plan_id: .*string/, ['plan_id: 7', 'steps:', '  - name: a', '    reboot: {}']],
    ['no steps', 2, /steps: must not be empty/, ['plan_id: p', 'steps: []']],
    [
      'an unknown step kind',
      5,
      /steps\[1\]: .*fly/,
      ['plan_id: p', 'steps:', '  - name: a', '    reboot: {}', '  - name: b', '    fly: {}'],
    ],
    [
      'a name for the second time',
      5,
      /steps\[1\]\.name: a is the name of steps\[0\] too/,
      ['plan_id: p', 'steps:', '  - name: a', '    reboot: {}', '  - name: a', '    reboot: {}'],
    ],
    [
      'a bad timeout',
      4,
      /steps\[0\]\.timeout_seconds: must be at least 1/,
      ['plan_id: p', 'steps:', '  - name: a', '    timeout_seconds: -5', '    reboot: {}'],
    ],
    [
      'a bad configuration',
      5,
      /steps\[0\]\.netboot\.mode: /,
      ['plan_id: p', 'steps:', '  - name: a', '    netboot:', '      mode: FLOPPY'],
    ],
    [
      'a misspelt field',
      6,
      /steps\[0\]\.ssh\.repeatble: is not known/,
      ['plan_id: p', 'steps:', '  - name: a', '    ssh:', '      command: x', '      repeatble: true'],
    ],
    [
      'a command that is missing',
      5,
      /steps\[0\]\.ssh\.command: /,
      ['plan_id: p', 'steps:', '  - name: a', '    ssh:', '      check: x'],
    ],
    [
      'a NUL in a command',
      4,
      /steps\[0\]\.ssh\.command: must not contain NUL/,
      ['plan_id: p', 'steps:', '  - name: a', '    ssh: { command: "a\\0b" }'],
    ],
  ])('%s', (_what, line, says, text) => {
    const file = write('wrong.yaml', ...text);
    const message = problemIn(directory);
    expect(message).toMatch(says);
    expect(message.startsWith(`INGOT_PLANS_DIR: ${file}: line ${line}: `), message).toBe(true);
    expect(message).not.toContain('\n');
  });

  it('JSON with a field that is wrong', () => {
    const file = write('p.json', '{', '  "plan_id": "p",', '  "steps": [', '    { "name": "a" }', '  ]', '}');
    expect(problemIn(directory)).toContain(`${file}: line 4: steps[0]: needs exactly one of`);
  });

  it('an alias that grows without end', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [one, other] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh'].map((pair) => pair.split('')))
      bomb.push(`${other}: &${other} [${Array(9).fill(`*${one}`).join(', ')}]`);
    const file = write('bomb.yaml', ...bomb);
    expect(problemIn(directory)).toContain(`${file}: line 1: `);
  });

  it('also among many that are right', () => {
    writePlan('a.yaml', 'one');
    const file = write('b.yaml', 'plan_id: two', 'steps: []');
    writePlan('c.yaml', 'three');
    expect(problemIn(directory)).toContain(`${file}: line 2: `);
  });
});

describe('plans from files', () => {
  let clone: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    clone = await cloneDatabase();
    database = new Database({ url: clone.url, maxConnections: 4, onIdleError: () => {} });
    await database.run(
      'insert-machine',
      `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`,
    );
    await database.run(
      'insert-operation',
      `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract,
         params, steps, started_by)
       VALUES ('op-1', 'm-1', 'r', '', 'REBOOT', 'completed', 'used', 'run', '{}', '[]', 'alice')`,
    );
  });
  afterAll(async () => {
    await database?.close();
    await clone?.drop();
  });
  beforeEach(() => database.run('clear-plans', 'DELETE FROM plans'));

  const stored = async () =>
    (
      await database.run<{ name: string }>('names', 'SELECT display_name AS name FROM plans ORDER BY plan_id')
    ).map(({ name }) => name);
  const store = () => storePlanFiles(database, readPlanFiles(directory));

  it('are stored, and stored again at the next start', async () => {
    writePlan('a.yaml', 'one');
    writePlan('b.yaml', 'used');
    for (let start = 0; start < 2; start += 1) await store();
    expect(await stored()).toEqual(['one', 'used']);
  });

  it('are replaced when their file has changed and nothing references them', async () => {
    writePlan('a.yaml', 'one');
    await store();
    writePlan('a.yaml', 'one', 'changed');
    await store();
    expect(await stored()).toEqual(['changed']);
  });

  it('stop the start when one has changed after a run referenced it, and none of them is loaded', async () => {
    const file = writePlan('m.yaml', 'used');
    await store();
    writePlan('a.yaml', 'before');
    writePlan('z.yaml', 'zz-after');
    writePlan('m.yaml', 'used', 'changed');
    const failure = store();
    await expect(failure).rejects.toBeInstanceOf(SettingError);
    await expect(failure).rejects.toThrow(
      `${file}: line 1: plan used was referenced by run-1 and can't change any more; use a new plan_id`,
    );
    expect(await stored()).toEqual(['used']);
  });

  it('stop the start when one would be a default plan, and none of them is loaded', async () => {
    writePlan('a.yaml', 'one');
    const file = writePlan('b.yaml', 'default-repave');
    await expect(store()).rejects.toThrow(
      `INGOT_PLANS_DIR: ${file}: line 1: default-repave is a default plan`,
    );
    expect(await stored()).toEqual([]);
  });
});
