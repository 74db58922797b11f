import type { Pattern } from './ast.ts';

/** Whether `text` consists of the pieces in their order, with any text between them. */
export function fitsPattern(text: string, pattern: Pattern): boolean {
  const first = pattern[0];
  const last = pattern.length - 1;
  if (last === 0) return text === first;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (let index = 1; index < last; index += 1) {
    const piece = pattern[index] as string;
    const found = text.indexOf(piece, from);
    if (found < 0) return false;
    from = found + piece.length;
  }
  const end = pattern[last] as string;
  return text.length - end.length >= from && text.endsWith(end);
}

/** `*` and nothing else: every value matches. */
export function isAnything(pattern: Pattern): boolean {
  return pattern.length > 1 && pattern.every((piece) => piece === '');
}
