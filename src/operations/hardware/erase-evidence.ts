/** Keeps the evidence of an erasure: a certificate, signed with the key of the audit chain, and an event that has its digest. */
import { createHash } from 'node:crypto';
import type { AuditKey } from '../../audit/audit-key.ts';
import { CERTIFICATE_FORMAT, type EraseDocument, signCertificate } from '../../audit/erase-certificate.ts';
import type { Actor } from '../../domain/actor.ts';
import { mergeHardware } from '../../domain/hardware/merge-hardware.ts';
import type { Erasure } from '../../domain/install/erasure.ts';
import { erasureText } from '../../domain/install/erasure.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { operationOf } from '../../providers/provider.ts';
import type { EraseEvidence } from '../../steps/control-plane.ts';
import type { Database, Session } from '../../store/database/database.ts';
import { appendEvents } from '../../store/events/append-events.ts';
import { findCertificate, insertCertificate } from '../../store/hardware/erase-certificates.ts';
import { findHardwareInventories } from '../../store/hardware/hardware-inventories.ts';
import { startedBy } from '../../store/operations/find-operations.ts';

interface EvidenceDependencies {
  readonly database: Database;
  readonly now: () => Date;
  readonly signingKey: () => AuditKey;
}

const ACTOR: Actor = { kind: 'system', id: 'erasure' };

export function createEraseEvidence({ database, now, signingKey }: EvidenceDependencies): EraseEvidence {
  return {
    async isRecorded(call) {
      return (await findCertificate(database, call.machine.machineId, operationOf(call))) !== null;
    },
    async record(call, erasure, erasedBy) {
      const operationId = operationOf(call);
      const { machineId } = call.machine;
      await database.transaction(async (session) => {
        const issuedAt = now();
        const document: EraseDocument = {
          format: CERTIFICATE_FORMAT,
          machine: await identityOf(session, call.machine),
          operation_id: operationId,
          requested_by: (await startedBy(session, operationId)) ?? '',
          erased_by: erasedBy,
          outcome: erasure.outcome,
          drives: erasure.disks.map(({ at, ...disk }) => ({ ...disk, erased_at: at ?? erasure.at })),
          not_touched: erasure.skipped,
          issued_at: issuedAt.toISOString(),
        };
        const signed = signCertificate(document, signingKey());
        const isNew = await insertCertificate(session, { ...signed, machineId, operationId, issuedAt });
        if (isNew) await appendEvents(session, [event(machineId, operationId, erasure, signed)]);
      });
    },
  };
}

function event(
  machineId: string,
  operationId: string,
  erasure: Erasure,
  { document, keyId }: { readonly document: string; readonly keyId: string },
) {
  const sha256 = createHash('sha256').update(document).digest('hex');
  return {
    kind: 'hardware',
    subject: 'erasure',
    from: '',
    to: erasure.outcome,
    actor: ACTOR,
    comment: erasureText(erasure),
    // With the digest in the audit chain, a certificate can't be replaced by another one that the same key signed.
    metadata: { certificate_sha256: sha256, key_id: keyId },
    machineId,
    operationId,
    snapshot: null,
  } as const;
}

async function identityOf(session: Session, { machineId, spec }: Machine): Promise<EraseDocument['machine']> {
  const { system } = mergeHardware(await findHardwareInventories(session, machineId));
  return {
    machine_id: machineId,
    vendor: system?.vendor ?? '',
    model: system?.model ?? '',
    serial_number: system?.serial_number ?? spec.serial,
    uuid: system?.uuid ?? '',
  };
}
