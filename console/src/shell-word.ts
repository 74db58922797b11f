const SAFE = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A text as one word of a POSIX shell, quoted where it has to be. */
export function shellWord(text: string): string {
  return SAFE.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
