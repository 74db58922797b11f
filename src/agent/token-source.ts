/** The machine's token. An operator may replace it while the agent runs, by writing another one into the same file. */
import { relative, resolve } from 'node:path';
import {
  type AgentTokenPlace,
  findAgentToken,
  missingToken,
  readTokenFrom,
  type SettingSources,
} from './agent-settings.ts';
import type { AgentTls } from './agent-tls.ts';

export interface TokenSource {
  /** The token to use now. Null: the certificate identifies this machine. */
  current(): string | null;
  /** Every token that was used: the log redacts them. */
  seen(): readonly string[];
  /** Reads it again. A file that can't be read, or has no valid token, changes nothing. */
  reload(): 'changed' | 'same';
  /**
   * fixed: set at the start, never changes. file: may change at any time. credential: a copy that systemd made at the start;
   * only a restart can change it. certificate: there is none.
   */
  readonly kind: 'fixed' | 'file' | 'credential' | 'certificate';
}

const WITHOUT_TOKEN: TokenSource = {
  kind: 'certificate',
  current: () => null,
  seen: () => [],
  reload: () => 'same',
};

export function openTokenSource(sources: SettingSources, { hasCertificate }: AgentTls): TokenSource {
  const place = findAgentToken(sources);
  if (place === null) {
    if (hasCertificate) return WITHOUT_TOKEN;
    throw missingToken();
  }
  let current = readTokenFrom(place);
  const seen = [current];
  return {
    kind: kindOf(place, sources),
    current: () => current,
    seen: () => seen,
    reload: () => {
      if (place.file === null) return 'same';
      let found: string;
      try {
        found = readTokenFrom(place);
      } catch {
        // The file may be incomplete; it is read again after the next refusal.
        return 'same';
      }
      if (found === current) return 'same';
      current = found;
      seen.push(found);
      return 'changed';
    },
  };
}

function kindOf({ file }: AgentTokenPlace, { env, cwd }: SettingSources): TokenSource['kind'] {
  if (file === null) return 'fixed';
  const credentials = env.CREDENTIALS_DIRECTORY;
  if (credentials === undefined || credentials === '') return 'file';
  const path = relative(resolve(cwd, credentials), file);
  return path.startsWith('..') ? 'file' : 'credential';
}
