/**
 * `ingot ssh web-7 ls -la`: what follows the machine is the line of another program, whose options are not ours. The parser takes options
 * from anywhere on the line, so that everything from the first word of that line is put behind "--".
 */
import type { Command } from 'commander';

const RUNS_ANOTHER = [['ssh'], ['machine', 'ssh'], ['machines', 'ssh']] as const;

export function withOtherProgram(root: Command, argv: readonly string[]): readonly string[] {
  const words = ownWords(argv, [root, ...sshCommands(root)]);
  const path = RUNS_ANOTHER.find((names) => names.every((name, place) => argv[words[place] ?? -1] === name));
  // The machine, and then the first word of the other line.
  const first = path && words[path.length + 1];
  return first === undefined ? argv : [...argv.slice(0, first), '--', ...argv.slice(first)];
}

function sshCommands(root: Command): Command[] {
  const named = (parent: Command) => parent.commands.filter((sub) => sub.name() === 'ssh');
  return [...named(root), ...root.commands.flatMap(named)];
}

/** The places of the words that are neither options nor their values, up to "--". */
function ownWords(argv: readonly string[], commands: readonly Command[]): number[] {
  const takesValue = (flag: string) =>
    commands.some(({ options }) =>
      options.some(({ short, long, required }) => required && (flag === short || flag === long)),
    );
  const places: number[] = [];
  for (let place = 0; place < argv.length; place += 1) {
    const word = argv[place] ?? '';
    if (word === '--') break;
    if (!word.startsWith('-')) places.push(place);
    else if (takesValue(word)) place += 1;
  }
  return places;
}
