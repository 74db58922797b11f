/** The event log with its proof, and the key that signs it. */

import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type AuditKey, publicPem } from '../../../audit/audit-key.ts';
import { needsWholeFleet } from '../../../domain/access/scope.ts';
import { invalidField, missingField } from '../../../domain/error/fault.ts';
import { checkText } from '../../../domain/machine/machine-input.ts';
import type { AdminService } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { lastCheckpoint } from '../../../store/audit/audit-chain.ts';
import { exportChain } from '../../../store/audit/export-chain.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';

const MAX_ACTOR = 256;
const MAX_KEY_ID = 100;

export function auditHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof AdminService>, 'exportAudit' | 'getAuditKey' | 'rotateAuditKey'> {
  const { database, audit, now } = dependencies;
  return {
    async *exportAudit(request, { caller: { scope } }) {
      if (scope !== null) throw needsWholeFleet('the audit log', scope);
      const since = timeOf(request.since, 'since');
      const until = timeOf(request.until, 'until');
      if (since && until && since >= until) throw invalidField('until', 'must be after since');
      const actor = checkText(request.actor, 'actor', MAX_ACTOR);
      const records = exportChain({ database, heads: audit.heads, now }, { since, until, actor });
      for await (const lines of records) if (lines.length > 0) yield { lines };
    },

    async getAuditKey(_request, { caller: { scope } }) {
      if (scope !== null) throw needsWholeFleet('the audit log', scope);
      return keyMessage((last) => audit.key(last));
    },

    async rotateAuditKey({ keyId }, { caller: { scope, actor } }) {
      if (scope !== null) throw needsWholeFleet('the audit log', scope);
      if (keyId === '') throw missingField('key_id');
      const key = await audit.rotateKey({ replaces: checkText(keyId, 'key_id', MAX_KEY_ID), actor });
      return keyMessage(() => key);
    },
  };

  async function keyMessage(keyOf: (lastKeyId: string | null) => AuditKey) {
    const last = await lastCheckpoint(database);
    const { keyId, publicKey } = keyOf(last?.keyId ?? null);
    return {
      keyId,
      publicKey: publicPem(publicKey),
      blockNo: BigInt(last?.blockNo ?? 0),
      blockHash: last?.hash ?? '',
      sealedEvents: BigInt(last?.events ?? 0),
    };
  }
}

function timeOf(given: Timestamp | undefined, field: string): Date | null {
  if (given === undefined) return null;
  const at = timestampDate(given);
  if (Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9999 || at.getUTCFullYear() < 1)
    throw invalidField(field, 'must be a time from the year 1 to 9999');
  return at;
}
