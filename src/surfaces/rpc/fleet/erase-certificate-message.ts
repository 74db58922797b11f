/** The certificate of an erasure as the API shows it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { EraseDocument } from '../../../audit/erase-certificate.ts';
import type { Caller } from '../../../domain/access/caller.ts';
import { Fault } from '../../../domain/error/fault.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import type {
  EraseCertificateSchema,
  GetEraseCertificateRequest,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { findCertificate, type StoredCertificate } from '../../../store/hardware/erase-certificates.ts';
import { type EraseFailure, findEraseFailure } from '../../../store/hardware/erase-failures.ts';
import type { ServerDependencies } from '../server-dependencies.ts';

/** Of a machine that is gone, too; but then only for callers without a scope, because nothing says whose it was. */
export async function eraseCertificate(
  { machines, database }: ServerDependencies,
  request: GetEraseCertificateRequest,
  { scope }: Caller,
): Promise<MessageInitShape<typeof EraseCertificateSchema>> {
  const machineId = checkMachineId(request.machineId);
  const isKnown = (await machines.find(machineId, scope)) !== null;
  if (!isKnown && scope !== null) throw machineNotFound(machineId);
  const operationId = request.operationId || null;
  const found = await findCertificate(database, machineId, operationId);
  const failed = await findEraseFailure(database, machineId, {
    operationId: found ? null : operationId,
    after: found?.issuedAt ?? null,
  });
  if (found) return { ...certificateMessage(found), ...(failed && { failedSince: failureText(failed) }) };
  if (!isKnown && failed === null) throw machineNotFound(machineId);
  if (failed)
    throw new Fault('ERASE_CERTIFICATE_NOT_FOUND', {
      message: `there is no erase certificate of ${machineId}: its erasure failed: ${failureText(failed)}`,
      metadata: { machine_id: machineId, operation_id: failed.operationId },
    });
  throw new Fault('ERASE_CERTIFICATE_NOT_FOUND', {
    message: `there is no erase certificate of ${machineId}`,
    metadata: { machine_id: machineId },
  });
}

function failureText({ operationId, failedAt, message }: EraseFailure): string {
  return `${message} (${operationId}, ${failedAt.toISOString()})`;
}

function certificateMessage(stored: StoredCertificate): MessageInitShape<typeof EraseCertificateSchema> {
  const { machineId, operationId, issuedAt, document, keyId, publicKey, signature } = stored;
  const says = JSON.parse(document) as EraseDocument;
  return {
    ...{ machineId, operationId, document, keyId, publicKey, signature },
    issuedAt: timestampFromDate(issuedAt),
    outcome: says.outcome,
    erasedBy: says.erased_by,
    requestedBy: says.requested_by,
    vendor: says.machine.vendor,
    model: says.machine.model,
    serialNumber: says.machine.serial_number,
    uuid: says.machine.uuid,
    drives: says.drives.map((drive) => ({
      name: drive.name,
      model: drive.model,
      serialNumber: drive.serial,
      sizeBytes: BigInt(drive.size_bytes ?? 0),
      method: drive.method,
      result: drive.result,
      verified: drive.verified,
      notDone: drive.not_done,
      erasedAt: timestampFromDate(new Date(drive.erased_at)),
    })),
    notTouched: says.not_touched.map(({ name, reason }) => `${name}: ${reason}`),
  };
}
