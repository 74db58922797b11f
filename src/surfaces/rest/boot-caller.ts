/** The boot that a request comes from, by the token that it shows. */
import type { FastifyRequest } from 'fastify';
import type { Database } from '../../store/database/database.ts';
import { type BootToken, findBootToken } from '../../store/nodes/boot-tokens.ts';
import { findNode, isOperationWanted } from '../../store/nodes/nodes.ts';
import { bearerOf } from './rest-errors.ts';

/** Null: no boot token, or that of an operation that is over. */
export async function bootOf(database: Database, request: FastifyRequest): Promise<BootToken | null> {
  const token = bearerOf(request);
  const boot = token === null ? null : await findBootToken(database, token);
  if (boot?.purpose !== 'install') return null;
  if (boot.operationId && !(await isOperationWanted(database, boot.operationId))) return null;
  // One boot, one use: once it has told its end, or another one has begun, it opens nothing more.
  const story = (await findNode(database, boot.machineId))?.story;
  const isOver = !story || boot.bootNo < Math.max(story.bootNo, story.firstBootNo);
  return isOver || (boot.bootNo === story.bootNo && story.bootEnded) ? null : boot;
}
