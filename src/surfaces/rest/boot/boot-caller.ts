/** The boot that sends a request, by its token. */
import type { FastifyRequest } from 'fastify';
import { isAtHome } from '../../../operations/nodes/report/report-admission.ts';
import type { Database } from '../../../store/database/database.ts';
import { findLiveBoots, type LiveBoot } from '../../../store/nodes/boot-tokens.ts';
import { hashToken } from '../../../store/tokens.ts';
import { clientAddress } from '../client-address.ts';
import { bearerOf } from '../rest-errors.ts';

/** Null: no boot token, one from another address, one of an operation that has ended, or of a boot that is not live. */
export async function bootOf(database: Database, request: FastifyRequest): Promise<LiveBoot | null> {
  const token = bearerOf(request);
  if (token === null) return null;
  const [boot] = await findLiveBoots(database, [hashToken(token)]);
  return boot && isAtHome(boot, clientAddress(request)) ? boot : null;
}
