/** A machine as MAAS has it, known by nothing but its addresses. */
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { MaasControl, MaasMachine, MaasReadCall } from './client/maas-control.ts';

export async function machineByMac(
  maas: Pick<MaasControl, 'findByMac'>,
  call: MaasReadCall,
  machine: Machine,
): Promise<MaasMachine> {
  const found = await maas.findByMac(call, machine.spec.mac_addresses);
  const [only, second] = found;
  if (only && !second) return only;
  const message = only
    ? `MAAS has ${found.length} machines with addresses of ${machine.machineId}: ${found.map(({ systemId }) => systemId).join(', ')}`
    : `MAAS has no machine with an address of ${machine.machineId} (spec.mac_addresses)`;
  const code = only ? 'MAAS_MACHINE_AMBIGUOUS' : 'MAAS_MACHINE_MISSING';
  throw new StepFailure({ class: 'needs_human', code, message });
}

export function notDeployed({ machineId }: Machine, status: string, what: string): StepFailure {
  const message = `${machineId} is ${status} in MAAS; only a Deployed machine ${what}`;
  return new StepFailure({ class: 'permanent', code: 'MAAS_NOT_DEPLOYED', message });
}
