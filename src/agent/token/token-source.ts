/** The machine's token. An operator may replace it while the agent runs, by writing another one into the same file. */
import { relative, resolve } from 'node:path';
import { openSecretFile } from '../../secret-file.ts';
import {
  type AgentTokenPlace,
  findAgentToken,
  missingToken,
  readTokenFrom,
  type SettingSources,
} from '../agent-settings.ts';
import type { AgentTls } from '../agent-tls.ts';
import { readRotatedToken, writeRotatedToken } from './rotated-token.ts';

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
  /**
   * Keeps the token that the server handed out, also over a restart: in the file that the present one came from, or in the state
   * directory of the service. Throws where neither can be written.
   */
  replace(token: string): void;
}

const WITHOUT_TOKEN: TokenSource = {
  kind: 'certificate',
  current: () => null,
  seen: () => [],
  reload: () => 'same',
  replace: () => {
    throw new Error('a certificate identifies this machine');
  },
};

export function openTokenSource(sources: SettingSources, { hasCertificate }: AgentTls): TokenSource {
  const place = findAgentToken(sources);
  if (place === null) {
    if (hasCertificate) return WITHOUT_TOKEN;
    throw missingToken();
  }
  const given = readTokenFrom(place);
  const kind = kindOf(place, sources);
  const stateDir = sources.env.STATE_DIRECTORY ?? '';
  let current = (kind !== 'file' && stateDir !== '' && readRotatedToken(stateDir, given)) || given;
  const seen = [given, current];
  return {
    kind,
    current: () => current,
    seen: () => seen,
    reload: () => {
      // The state directory holds a newer one than a credential, which never changes.
      if (place.file === null || kind === 'credential') return 'same';
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
    replace: (token) => {
      if (kind === 'file' && place.file !== null) openSecretFile(place.file).replace(token);
      else if (stateDir !== '') writeRotatedToken(stateDir, given, token);
      else throw new Error('there is no state directory to keep it in');
      current = token;
      seen.push(token);
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
