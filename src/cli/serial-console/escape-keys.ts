/**
 * The escape keys of a console, as those of ssh: at the start of a line, "~" and a key. A "~" is held back until the next key; every
 * other key goes on at once.
 */
export const ESCAPE_KEYS = {
  '.': { action: 'disconnect', help: 'disconnect' },
  t: { action: 'ask', help: 'ask for the turn to write' },
  s: { action: 'steal', help: 'take the turn to write from the session that has it' },
  r: { action: 'release', help: 'give the turn to write back' },
  B: { action: 'break', help: 'send a break' },
  '?': { action: 'help', help: 'this list' },
} as const satisfies Record<string, { readonly action: string; readonly help: string }>;

export type EscapeAction = (typeof ESCAPE_KEYS)[keyof typeof ESCAPE_KEYS]['action'];

export type Typed = { readonly bytes: Uint8Array } | { readonly action: EscapeAction };

const TILDE = 0x7e;
const CR = 0x0d;
const LF = 0x0a;

export class EscapeKeys {
  #atLineStart = true;
  #isEscaped = false;

  /** What was typed, in order. */
  read(bytes: Uint8Array): Typed[] {
    const typed: Typed[] = [];
    let kept: number[] = [];
    const keep = (byte: number) => {
      kept.push(byte);
      this.#atLineStart = byte === CR || byte === LF;
    };
    for (const byte of bytes) {
      if (!this.#isEscaped) {
        if (byte === TILDE && this.#atLineStart) this.#isEscaped = true;
        else keep(byte);
        continue;
      }
      this.#isEscaped = false;
      const key = ESCAPE_KEYS[String.fromCharCode(byte) as keyof typeof ESCAPE_KEYS];
      if (key !== undefined) {
        if (kept.length > 0) typed.push({ bytes: Uint8Array.from(kept) });
        kept = [];
        typed.push({ action: key.action });
        continue;
      }
      keep(TILDE);
      // "~~" types one.
      if (byte !== TILDE) keep(byte);
    }
    if (kept.length > 0) typed.push({ bytes: Uint8Array.from(kept) });
    return typed;
  }
}

export function escapeHelp(): string[] {
  const keys = Object.entries(ESCAPE_KEYS).map(([key, { help }]) => `  ~${key}  ${help}`);
  return ['Escape keys, at the start of a line:', ...keys, '  ~~  type one ~'];
}
