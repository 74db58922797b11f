/** The API call of each action. */
import type { Flag, MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import type { DecommissionMode } from '../../../../src/domain/workflow/stage.ts';
import {
  DecommissionMode_Value,
  MachineFlag_Value,
  Overwrite_Value,
} from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin, machines } from '../../api/clients.ts';
import { approveNode, changeNode } from '../nodes/nodes.ts';
import { macsOf, type Values } from './action-form.ts';
import { wattsOf } from './bmc-form.ts';
import { bmc } from './use-bmc.ts';

export interface ActionRequest {
  readonly machineId: string;
  readonly requestId: string;
  readonly values: Values;
}

const MODES: Readonly<Record<string, DecommissionMode_Value>> = {
  soft_reset: DecommissionMode_Value.SOFT_RESET,
  reimage: DecommissionMode_Value.REIMAGE,
  full_decommission: DecommissionMode_Value.FULL_DECOMMISSION,
  storage_cleanup: DecommissionMode_Value.STORAGE_CLEANUP,
} satisfies Record<DecommissionMode, DecommissionMode_Value>;

const FLAGS: Readonly<Record<string, MachineFlag_Value>> = {
  RMA: MachineFlag_Value.RMA,
  Retired: MachineFlag_Value.RETIRED,
} satisfies Record<Flag, MachineFlag_Value>;

const flagOf = (flag: string) => FLAGS[flag] ?? MachineFlag_Value.VALUE_UNSPECIFIED;

/** The operation that was started; an empty id if the action starts none. */
interface Started {
  readonly operationId: string;
}

const NONE: Started = { operationId: '' };

export const CALLS = {
  reboot: ({ values: _, ...request }) => machines.rebootMachine(request),
  reimage: ({ values, ...request }) => machines.reimageMachine({ ...request, imageRef: values.image.trim() }),
  enter_maintenance: ({ values: _, ...request }) => machines.enterMaintenance(request),
  exit_maintenance: ({ values: _, ...request }) => machines.exitMaintenance(request),
  onboard: ({ values, ...request }) => admin.onboardMachine({ ...request, pool: values.pool }),
  drain: ({ values: _, ...request }) => admin.drainMachine(request),
  decommission: ({ values, ...request }) =>
    admin.decommissionMachine({
      ...request,
      mode: MODES[values.mode] ?? DecommissionMode_Value.VALUE_UNSPECIFIED,
    }),
  remove: ({ values: _, ...request }) => admin.removeMachine(request),
  erase: ({ values, ...request }) =>
    admin.eraseMachine({
      ...request,
      overwrite: values.overwrite === '' ? Overwrite_Value.ENDS : Overwrite_Value.WHOLE,
    }),
  migrate: ({ values, ...request }) =>
    admin.migrateMachine({
      ...request,
      macAddresses: macsOf(values.macs),
      serialNumber: values.serial.trim(),
      imageRef: values.image.trim(),
    }),
  async set_service({ machineId, values: { service, force, reason } }) {
    await admin.setServiceState({ machineId, service, reason, force: force !== '' });
    return NONE;
  },
  async flag({ machineId, values: { flag, reason } }) {
    await admin.flagMachine({ machineId, flag: flagOf(flag), reason });
    return NONE;
  },
  async unflag({ machineId, values: { flag, reason } }) {
    await admin.unflagMachine({ machineId, flag: flagOf(flag), reason });
    return NONE;
  },
  async clear({ machineId, values: { reason } }) {
    await admin.clearNeedsIntervention({ machineId, reason });
    return NONE;
  },
  async approve_node({ machineId, values: { workflow, comment } }) {
    await approveNode(machineId, { force: false, workflow, comment });
    return NONE;
  },
  power: ({ values, ...request }) =>
    bmc.changePower({ ...request, action: values.powerRequest, reason: values.why.trim() }),
  power_cap({ values, ...request }) {
    const watts = wattsOf(values.watts) ?? null;
    return bmc.setPowerCap({ ...request, reason: values.why.trim(), ...(watts !== null && { watts }) });
  },
  async locate({ machineId, values: { duration, off, why } }) {
    const isOff = off !== '';
    await bmc.locateMachine({
      machineId,
      off: isOff,
      duration: isOff ? '' : duration.trim(),
      reason: why.trim(),
    });
    return NONE;
  },
  boot_override: ({ values: { source, path, firmware, continuous, why }, ...request }) =>
    bmc.setBootOverride({
      ...request,
      source,
      path: path.trim(),
      mode: firmware,
      continuous: continuous !== '',
      reason: why.trim(),
    }),
  bmc_reset: ({ values, ...request }) => bmc.resetBmc({ ...request, reason: values.why.trim() }),
  clear_log: ({ values, ...request }) => bmc.clearBmcLog({ ...request, reason: values.why.trim() }),
  async trust_certificate({ machineId, values: { fingerprint, why } }) {
    await bmc.trustBmcCertificate({ machineId, sha256: fingerprint, reason: why.trim() });
    return NONE;
  },
  rotate_password: ({ values, ...request }) =>
    bmc.rotateBmcPassword({ ...request, reason: values.why.trim() }),
  async set_install({ machineId, values: { state, force, comment } }) {
    await changeNode(machineId, { state, force: force !== '', comment });
    return NONE;
  },
} as const satisfies Record<MachineAction, (request: ActionRequest) => Promise<Started>>;
