/**
 * The rotation of an agent's token, in two steps, so that a crash between them loses nothing: the agent is handed the next
 * token while its present one stays valid, and the first use of the next one makes it the agent's token.
 */
import type { NewEvent } from '../../domain/event.ts';
import type { Database } from '../database/database.ts';
import { appendEvents } from '../events/append-events.ts';
import type { AgentBearer } from './agents.ts';

/** False: the token that the agent used is not its token any more. */
export async function offerAgentToken(
  database: Database,
  { machineId, tokenHash }: Pick<AgentBearer, 'machineId' | 'tokenHash'>,
  nextHash: Buffer,
): Promise<boolean> {
  return database.transaction(async (session) => {
    const rows = await session.run(
      'offer-agent-token',
      'UPDATE agents SET next_token_hash = $3 WHERE machine_id = $1 AND token_hash = $2 RETURNING machine_id',
      [machineId, tokenHash, nextHash],
    );
    if (rows.length > 0) await appendEvents(session, [tokenEvent(machineId, 'offered')]);
    return rows.length > 0;
  });
}

const PROMOTE = `
  UPDATE agents SET token_hash = next_token_hash, next_token_hash = NULL, token_issued_at = now()
  WHERE next_token_hash = ANY($1) RETURNING machine_id`;

/** Makes next tokens that are used for the first time the tokens of their agents. Returns how many. */
export async function promoteAgentTokens(database: Database, hashes: readonly Buffer[]): Promise<number> {
  const [known] = await database.run<{ exists: boolean }>(
    'has-next-agent-token',
    'SELECT EXISTS (SELECT FROM agents WHERE next_token_hash = ANY($1)) AS exists',
    [hashes],
  );
  if (!known?.exists) return 0;
  return database.transaction(async (session) => {
    const rows = await session.run<{ machine_id: string }>('promote-agent-tokens', PROMOTE, [hashes]);
    await appendEvents(
      session,
      rows.map((row) => tokenEvent(row.machine_id, 'rotated')),
    );
    return rows.length;
  });
}

function tokenEvent(machineId: string, to: 'offered' | 'rotated'): NewEvent {
  return {
    kind: 'token',
    subject: machineId,
    from: 'issued',
    to,
    actor: { kind: 'agent', id: machineId },
    comment: '',
    metadata: {},
    machineId,
    operationId: null,
    snapshot: null,
  };
}
