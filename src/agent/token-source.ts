/** The machine's token, which may be replaced while the agent runs: whoever has another put it into the same file. */
import { relative, resolve } from 'node:path';
import { type AgentTokenPlace, findAgentToken, readTokenFrom, type Said } from './agent-settings.ts';

export interface TokenSource {
  /** The one to use now. */
  current(): string;
  /** Every one that was ever used: none may be written anywhere. */
  seen(): readonly string[];
  /** Reads it again. A place that can't be read, or holds none, is as it was. */
  reload(): 'changed' | 'same';
  /**
   * fixed: given with the start, and never another. file: may change at any time. credential: a copy that systemd made at
   * the start, so only another start can change it.
   */
  readonly kind: 'fixed' | 'file' | 'credential';
}

export function openTokenSource(said: Said): TokenSource {
  const place = findAgentToken(said);
  let current = readTokenFrom(place);
  const seen = [current];
  return {
    kind: kindOf(place, said),
    current: () => current,
    seen: () => seen,
    reload: () => {
      if (place.file === null) return 'same';
      let found: string;
      try {
        found = readTokenFrom(place);
      } catch {
        // Somebody may be writing it at this moment; it is read again after the next refusal.
        return 'same';
      }
      if (found === current) return 'same';
      current = found;
      seen.push(found);
      return 'changed';
    },
  };
}

function kindOf({ file }: AgentTokenPlace, { env, cwd }: Said): TokenSource['kind'] {
  if (file === null) return 'fixed';
  const credentials = env.CREDENTIALS_DIRECTORY;
  if (credentials === undefined || credentials === '') return 'file';
  const path = relative(resolve(cwd, credentials), file);
  return path.startsWith('..') ? 'file' : 'credential';
}
