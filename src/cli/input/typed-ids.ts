/** The ids on the command line. `-` stands for those on stdin, separated by spaces or lines, as `list -o name` prints them. */
import type { CommandContext } from '../command-context.ts';
import { UsageError } from '../errors/usage-error.ts';

export async function typedIds(
  { stdin }: CommandContext,
  typed: readonly string[],
): Promise<readonly string[]> {
  const at = typed.indexOf('-');
  if (at < 0) return typed;
  if (stdin.isTTY) throw new UsageError('-: pipe the ids in, such as: ingot list -o name | ingot reboot -');
  let text = '';
  for await (const piece of stdin) text += String(piece);
  const read = text.split(/\s+/).filter((id) => id !== '');
  if (read.length === 0 && typed.length === 1) throw new UsageError('-: there are no ids on stdin');
  return [...typed.slice(0, at), ...read, ...typed.slice(at + 1)];
}
