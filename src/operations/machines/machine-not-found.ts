import { Fault } from '../../domain/error/fault.ts';

export function machineNotFound(machineId: string): Fault {
  return new Fault('MACHINE_NOT_FOUND', {
    message: `there is no machine ${machineId}`,
    metadata: { machine_id: machineId },
  });
}
