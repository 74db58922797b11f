/** The same flags everywhere: rules that hold for every command, so that a new one follows them too. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { CommandContext } from '../../src/cli/command-context.ts';
import { commandTree } from '../../src/cli/command-tree.ts';
import { COMMANDS } from '../../src/cli/commands.ts';

const context = new CommandContext({
  program: 'ingot',
  env: {},
  cwd: '/',
  signals: process,
  now: () => 0,
  newRequestId: () => '',
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
});
const root = await commandTree(context, {});

interface Leaf {
  readonly path: string;
  readonly command: Command;
  readonly flags: readonly string[];
}

function leaves(command: Command, path: readonly string[]): Leaf[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((sub) => leaves(sub, [...path, sub.name()]));
  const flags = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '');
  return [{ path: path.join(' '), command, flags }];
}

const all = leaves(root, []);
const missing = (wanted: readonly string[], of: readonly Leaf[]) =>
  of.flatMap(({ path, flags }) =>
    wanted.filter((flag) => !flags.includes(flag)).map((flag) => `${path} ${flag}`),
  );

const verbOf = ({ path }: Leaf): string => path.split(' ').at(-1) ?? '';
/** Lists that are named for what they list. */
const LISTS = [
  'list',
  'ops',
  'events',
  'changes',
  'machines',
  'stalled',
  'history',
  'boots',
  'log',
  'lemons',
];
/** What reads only, what is about this computer only, and what opens another program. */
const CHANGES_NOTHING = new Set([
  ...LISTS,
  ...[
    'show',
    'watch',
    'attach',
    'logs',
    'explain',
    'open',
    'ssh',
    'overview',
    'top',
    'stats',
    'diff',
    'preview',
  ],
  ...[
    'verify',
    'export',
    'key',
    'role',
    'boot-url',
    'login',
    'logout',
    'whoami',
    'completion',
    'version',
    'suggest',
  ],
  ...['help', 'sensors', 'log', 'lemons', 'console', 'erase-certificate', 'burn-in'],
]);

describe('every command', () => {
  it('that lists has the flags of a list', () => {
    const lists = all.filter((leaf) => LISTS.includes(verbOf(leaf)));
    expect(lists.length).toBeGreaterThan(20);
    expect(missing(['--limit', '--all', '--output', '--jq', '--columns', '--sort'], lists)).toEqual([]);
  });

  it('that changes something takes a reason', () => {
    const changing = all.filter((leaf) => !CHANGES_NOTHING.has(verbOf(leaf)));
    expect(changing.length).toBeGreaterThan(40);
    expect(missing(['--reason'], changing)).toEqual([]);
  });

  it('that takes several machines selects them by filter too, and can show what it would do', () => {
    const many = all.filter(
      ({ path, command }) =>
        command.registeredArguments.some(({ variadic }) => variadic) && !/^(node|ssh|machine ssh)/.test(path),
    );
    const started = many.filter(({ path }) => !/^rollout (retry|skip|preview)$/.test(path));
    expect(started.length).toBeGreaterThan(15);
    expect(
      missing(['--filter', '--label', '--all', '--dry-run', '--yes', '--max-parallel'], started),
    ).toEqual([]);
  });

  it('that asks for confirmation has a flag that answers', () => {
    const nodes = all.filter(({ path }) => /^node (approve|tag|workflow)$/.test(path));
    expect(missing(['--yes', '--dry-run'], nodes)).toEqual([]);
  });

  it('says in one sentence what it does, beginning with a capital letter and without a full stop', () => {
    const wrong = all.filter(({ command }) => !/^[A-Z][^\n]*[^.\s]$/.test(command.description()));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it('says of every option what it is for', () => {
    const silent = all.flatMap(({ path, command }) =>
      command.options.filter(({ description }) => !description).map(({ long }) => `${path} ${long}`),
    );
    expect(silent).toEqual([]);
  });
});

describe('a short form', () => {
  const nouns = Object.values(COMMANDS['All commands of a noun:'] ?? {});
  const shorts: Readonly<Record<string, string>> = {
    ops: 'op list',
    watch: 'machine watch',
    events: 'event list',
  };
  const ofPath = new Map(all.map((leaf) => [leaf.path, leaf]));
  const top = Object.entries(COMMANDS)
    .filter(([heading]) => !['All commands of a noun:', 'Access:', 'This program:'].includes(heading))
    .flatMap(([, commands]) => Object.keys(commands))
    .filter((name) => !['overview', 'top'].includes(name) && ofPath.has(name));

  it.each(top)('%s is the command of its noun', (name) => {
    const long =
      shorts[name] ?? ['machine', 'op'].map((noun) => `${noun} ${name}`).find((path) => ofPath.has(path));
    const short = ofPath.get(name);
    expect(nouns.length).toBeGreaterThan(10);
    expect(short?.flags).toEqual(ofPath.get(long ?? '')?.flags);
    expect(short?.command.usage()).toBe(ofPath.get(long ?? '')?.command.usage());
    expect(short?.command.description()).toBe(ofPath.get(long ?? '')?.command.description());
  });
});
