/** What operators can do through a machine's BMC (docs/bmc.md): rows of MACHINE_ACTIONS. */
import { blockedBecause, busyBecause } from '../operation/gate.ts';
import type { ActionMachine, MachineActionInfo } from './machine-action.ts';

export type BmcAction =
  | 'power'
  | 'power_cap'
  | 'locate'
  | 'boot_override'
  | 'bmc_reset'
  | 'clear_log'
  | 'trust_certificate'
  | 'rotate_password';

const BMC = 'baremetal.fleet.v1.BmcService/';

/** An operation; in the order of the server's checks. */
const whyNoOperation = (machine: ActionMachine): string | null =>
  blockedBecause(machine) ?? machine.whyNoBmc ?? busyBecause(machine);

/** A call: it works beside an operation, and on machines that are flagged. */
const whyNoCall = ({ machineId, service, whyNoBmc }: ActionMachine): string | null =>
  service === 'deleted' ? `${machineId} was removed for good.` : whyNoBmc;

export const BMC_ACTIONS = {
  power: {
    title: 'Change power',
    effect: 'Switch the machine on or off, restart or reset it, through its BMC',
    verb: 'power',
    role: 'operator',
    method: `${BMC}ChangePower`,
    confirm: 'once',
    whyNot: whyNoOperation,
  },
  power_cap: {
    title: 'Set power cap',
    effect: 'Limit what the machine draws, or remove the limit; the BMC slows the machine down to keep it',
    verb: 'power cap',
    role: 'operator',
    method: `${BMC}SetPowerCap`,
    confirm: 'once',
    whyNot: whyNoOperation,
  },
  locate: {
    title: 'Locate',
    effect: 'Switch the indicator on, so that people find the machine; it goes off by itself',
    verb: 'locate',
    role: 'operator',
    method: `${BMC}LocateMachine`,
    confirm: 'once',
    whyNot: whyNoCall,
  },
  boot_override: {
    title: 'Set boot override',
    effect: 'Choose what the machine boots from next; it is not rebooted',
    verb: 'boot-override set',
    role: 'operator',
    method: `${BMC}SetBootOverride`,
    confirm: 'once',
    whyNot: whyNoOperation,
  },
  bmc_reset: {
    title: 'Reset BMC',
    effect: 'Restart the BMC and wait until it answers; the machine goes on',
    verb: 'bmc reset',
    role: 'operator',
    method: `${BMC}ResetBmc`,
    confirm: 'once',
    whyNot: whyNoOperation,
  },
  clear_log: {
    title: 'Clear hardware log',
    effect: 'Clear the log of hardware events that the BMC keeps; its entries are lost there',
    verb: 'bmc clear-log',
    role: 'admin',
    method: `${BMC}ClearBmcLog`,
    confirm: 'name',
    whyNot: whyNoOperation,
  },
  trust_certificate: {
    title: 'Trust certificate',
    effect: 'Pin the certificate that the BMC shows now: the BMC is reached with this one only',
    verb: 'bmc trust',
    role: 'admin',
    method: `${BMC}TrustBmcCertificate`,
    confirm: 'once',
    whyNot: whyNoCall,
  },
  rotate_password: {
    title: 'Rotate BMC password',
    effect: 'Replace the password of the BMC, on the BMC and where it is kept',
    verb: 'bmc rotate-password',
    role: 'admin',
    method: `${BMC}RotateBmcPassword`,
    confirm: 'once',
    whyNot: whyNoOperation,
  },
} as const satisfies Record<BmcAction, MachineActionInfo>;

export const BMC_ACTION_NAMES = Object.keys(BMC_ACTIONS) as BmcAction[];
