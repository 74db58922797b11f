/** Replaces the token when the server asks for it. The present one stays valid until the next one is used, so nothing can be lost. */
import type { AgentLog } from '../agent-log.ts';
import type { JsonPoster } from '../post-json.ts';
import type { TokenSource } from './token-source.ts';

export interface TokenRotationDependencies {
  readonly identity: { readonly machineId: string };
  readonly poster: JsonPoster;
  readonly tokens: TokenSource;
  readonly log: AgentLog;
}

/** The server asks with every keepalive until it is done; a failure is logged when its reason is a new one. */
export function createTokenRotation({
  identity,
  poster,
  tokens,
  log,
}: TokenRotationDependencies): (stop: AbortSignal) => Promise<void> {
  let failure = '';
  const failed = (reason: string) => {
    if (reason !== failure) log('warn', 'token not rotated', { reason });
    failure = reason;
  };
  return async (stop) => {
    try {
      const { status, body } = await poster.post(
        '/api/v1/machine/token',
        { machine_id: identity.machineId },
        stop,
      );
      const token = status === 200 ? tokenIn(body) : null;
      if (token === null) return failed(`answered ${status}`);
      tokens.replace(token);
      failure = '';
      log('info', 'token rotated', { reason: 'the server asked for it' });
    } catch (error) {
      if (stop.aborted) return;
      if (!(error instanceof Error)) throw error;
      failed(error.message);
    }
  };
}

function tokenIn(body: string): string | null {
  const parsed: unknown = JSON.parse(body);
  const token =
    typeof parsed === 'object' && parsed !== null ? (parsed as { token?: unknown }).token : undefined;
  return typeof token === 'string' && /^[\x21-\x7e]{1,512}$/.test(token) ? token : null;
}
