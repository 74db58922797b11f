/** Pins the certificate of a machine's BMC in its spec: the one that a person has seen, and no other. */
import type { Acting } from '../../domain/access/caller.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import { type BmcCertificate, fingerprintOf } from '../../domain/hardware/bmc-certificate.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { type InventoryDependencies, pinBmcCertificate } from '../machines/inventory.ts';
import { askBmc, type BmcCallDependencies, machineWithBmc } from './bmc-call.ts';

export interface TrustDependencies extends BmcCallDependencies, InventoryDependencies {
  readonly providers: BmcCallDependencies['providers'];
}

export interface SeenCertificate {
  readonly machine: Machine;
  readonly certificate: BmcCertificate;
}

export async function readBmcCertificate(
  dependencies: BmcCallDependencies,
  machineId: string,
  { scope }: Pick<Acting, 'scope'>,
  signal: AbortSignal,
): Promise<SeenCertificate> {
  const machine = await machineWithBmc(dependencies, machineId, scope);
  const certificate = await askBmc(dependencies, machine, signal, (bmc, call) => bmc.certificate(call));
  return { machine, certificate };
}

export async function trustBmcCertificate(
  dependencies: TrustDependencies,
  {
    machineId,
    sha256,
    reason,
  }: { readonly machineId: string; readonly sha256: string; readonly reason: string },
  acting: Acting,
  signal: AbortSignal,
): Promise<SeenCertificate> {
  const wanted = fingerprintOf(sha256);
  if (wanted === null) throw invalidField('sha256', 'must be a SHA-256 of 64 hexadecimal digits');
  const { certificate } = await readBmcCertificate(dependencies, machineId, acting, signal);
  if (certificate.sha256 !== wanted) {
    const message = `the BMC of ${machineId} shows the certificate ${certificate.sha256}, and not ${wanted}`;
    throw new Fault('BMC_CERTIFICATE_DIFFERS', {
      message,
      metadata: { machine_id: machineId, shown: certificate.sha256, wanted },
      violations: [{ subject: `machines/${machineId}`, description: 'shows another certificate' }],
    });
  }
  const machine = await pinBmcCertificate(dependencies, { machineId, sha256: wanted, reason }, acting);
  return { machine, certificate };
}
