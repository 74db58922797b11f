/** The boot that sends a request, by its token. */
import type { FastifyRequest } from 'fastify';
import { isAtHome } from '../../operations/nodes/report-admission.ts';
import type { Database } from '../../store/database/database.ts';
import { type BootToken, findBootToken } from '../../store/nodes/boot-tokens.ts';
import { findNode, isOperationWanted } from '../../store/nodes/nodes.ts';
import { clientAddress } from './client-address.ts';
import { bearerOf } from './rest-errors.ts';

/** Null: no boot token, one from another address, one of an operation that has ended, or of a boot that is not live. */
export async function bootOf(database: Database, request: FastifyRequest): Promise<BootToken | null> {
  const token = bearerOf(request);
  const boot = token === null ? null : await findBootToken(database, token);
  if (boot?.purpose !== 'install' || !isAtHome(boot, clientAddress(request))) return null;
  if (boot.operationId && !(await isOperationWanted(database, boot.operationId))) return null;
  const node = await findNode(database, boot.machineId);
  if (node === null || boot.bootNo < node.installRecord.firstBootNo) return null;
  const { bootNo: atWork, bootEnded, firstBootNo } = node.installRecord;
  // A token is for one boot: after its final report, or once another boot has started, it is void.
  if (boot.bootNo === atWork) return bootEnded ? null : boot;
  // A boot that fetched its script while another one is at work opens nothing before it has started itself.
  const isOtherAtWork = atWork >= firstBootNo && !bootEnded;
  return isOtherAtWork || boot.bootNo !== node.bootsIssued ? null : boot;
}
