/** The boot that sends a request, by its token. */
import type { FastifyRequest } from 'fastify';
import type { Database } from '../../store/database/database.ts';
import { type BootToken, findBootToken } from '../../store/nodes/boot-tokens.ts';
import { findNode, isOperationWanted } from '../../store/nodes/nodes.ts';
import { bearerOf } from './rest-errors.ts';

/** Null: no boot token, or one of an operation that has ended. */
export async function bootOf(database: Database, request: FastifyRequest): Promise<BootToken | null> {
  const token = bearerOf(request);
  const boot = token === null ? null : await findBootToken(database, token);
  if (boot?.purpose !== 'install') return null;
  if (boot.operationId && !(await isOperationWanted(database, boot.operationId))) return null;
  // A token is for one boot: after its final report, or once another boot has started, it is void.
  const installRecord = (await findNode(database, boot.machineId))?.installRecord;
  const isOver = !installRecord || boot.bootNo < Math.max(installRecord.bootNo, installRecord.firstBootNo);
  return isOver || (boot.bootNo === installRecord.bootNo && installRecord.bootEnded) ? null : boot;
}
