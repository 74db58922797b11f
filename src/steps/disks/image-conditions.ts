/** What an image that is written, or was not written to its end, means for the machine. */
import type { MachineChange } from '../../domain/machine/machine-change.ts';

/** The disk is wiped from the first byte on: what was provisioned is not any more. */
export function wiped(reason: string, message: string): MachineChange {
  return {
    conditions: [
      { type: 'Provisioned', status: false, reason, message },
      { type: 'InCustomerCluster', status: false, reason, message },
    ],
  };
}

export function written(message: string): MachineChange {
  return {
    conditions: [
      { type: 'Provisioned', status: true, reason: 'ImageWritten', message },
      {
        type: 'InCustomerCluster',
        status: false,
        reason: 'Reimaged',
        message: 'a fresh image is in no cluster',
      },
    ],
  };
}
