/** Why a machine, its state or its pool does not allow a request. */
import type { ReasonRow } from './reason-row.ts';

const SHOW_HOLDER = ['{ingot} show {machine_id}'] as const;

export const MACHINE_REASONS = {
  MACHINE_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no machine <machine_id>',
    cause: 'no machine has the id',
    fix: 'list the machines, or register this one',
    commands: ['{ingot} list'],
  },
  NO_HARDWARE_VERSION: {
    kind: 'failed_precondition',
    message: '<machine_id> has no version <version> of its hardware from <source>',
    cause: 'the source has not reported so often, or the version is too old to be kept',
    fix: 'list the versions, or inspect the machine',
    commands: ['{ingot} hardware changes {machine_id}', '{ingot} inspect {machine_id}'],
  },
  HARDWARE_PROFILE_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no hardware profile <profile>',
    cause: 'no hardware profile that the caller may read has the name',
    fix: 'list the hardware profiles',
    commands: ['{ingot} hardware profile list'],
  },
  MACHINE_DELETED: {
    kind: 'failed_precondition',
    message: '<machine_id> was removed for good',
    cause: 'the machine was removed; its id stays taken, so that its history keeps its meaning',
    fix: 'register the hardware under another id',
  },
  MACHINE_BLOCKED: {
    kind: 'failed_precondition',
    message: '<machine_id> is flagged <flag> and takes no operations',
    cause: 'an operator or an RMA flagged the machine',
    fix: 'remove the flag once its cause is gone',
    commands: ['{ingot} unflag {machine_id} {flag} --reason "…"   (admin)'],
  },
  MAC_ADDRESS_TAKEN: {
    kind: 'already_exists',
    message: 'spec.mac_addresses: the MAC address <address> is that of machine <machine_id>',
    cause: 'no two machines share a MAC address',
    fix: 'change the other machine first, or correct this one',
    commands: SHOW_HOLDER,
  },
  BMC_ENDPOINT_TAKEN: {
    kind: 'already_exists',
    message: 'spec.bmc_endpoint: the BMC <endpoint> is that of machine <machine_id>',
    cause: 'no two machines share a BMC: switching one would switch the other',
    fix: 'change the other machine first, or correct this one',
    commands: SHOW_HOLDER,
  },
  SSH_ENDPOINT_TAKEN: {
    kind: 'already_exists',
    message: 'spec.ssh_endpoint: the SSH endpoint <endpoint> is that of machine <machine_id>',
    cause: 'no two machines share an SSH endpoint: commands for one would run on the other',
    fix: 'change the other machine first, or correct this one',
    commands: SHOW_HOLDER,
  },
  NODE_RETIRED: {
    kind: 'failed_precondition',
    message: '<machine_id> was retired as a node, and that is final: the flag stays',
    cause: 'the flag Retired of a node that was retired cannot be removed',
    fix: 'register the hardware as another machine, with an address that this one does not have',
  },
  WRONG_PHASE: {
    kind: 'failed_precondition',
    message: '<machine_id> is <phase>; <type> needs <phases>',
    cause: 'the operation is not allowed in the phase of the machine',
    fix: 'enter or exit maintenance first; the table of phases is in docs/lifecycles/README.md',
    commands: ['{ingot} enter-maintenance {machine_id}'],
  },
  WRONG_SERVICE_STATE: {
    kind: 'failed_precondition',
    message: '<machine_id> is <service>; <type> needs <states>',
    cause: 'the workflow cannot start from the service state of the machine',
    fix: 'see what the machine waits for, and take the action that leads to one of these states',
    commands: ['{ingot} explain {machine_id}'],
  },
  QUARANTINED_BY_PERSON: {
    kind: 'failed_precondition',
    message: '<actor> quarantined <machine_id> (<comment>), and only a person lets it go',
    cause: 'a person quarantined the machine; automation does not end that',
    fix: 'set it active, or drain it and onboard it from retired',
    commands: ['{ingot} explain {machine_id}'],
  },
  UPSTREAM_DISAGREES: {
    kind: 'failed_precondition',
    message: '<what the upstream reports instead> (since <time>)',
    cause: 'the upstream reports another state of the machine than the one to be set',
    fix: 'onboard it again, correct it in the upstream, or force it with a reason',
    commands: ['{ingot} explain {machine_id}', '{ingot} service {machine_id} active --force --reason "…"'],
  },
  ILLEGAL_TRANSITION: {
    kind: 'failed_precondition',
    message: "<lifecycle> can't go from <from> to <to>; it can go to <states>",
    cause: 'the lifecycle has no such transition',
    fix: 'choose one of the states that the message names; the tables are in docs/lifecycles/',
  },
  WRONG_TRANSITION_OWNER: {
    kind: 'failed_precondition',
    message: '<lifecycle> <from> to <to> belongs to <owners>',
    cause: 'the transition exists, and another kind of actor makes it',
    fix: 'let the owner that the message names make it; the tables are in docs/lifecycles/',
  },
  POOL_NOT_FOUND: {
    kind: 'not_found',
    alsoPrecondition: true,
    message: 'there is no pool <pool>',
    cause: 'no pool has the name',
    fix: 'list the pools, or create this one',
    commands: ['{ingot} pool list', '{ingot} pool create <name>   (admin)'],
  },
  POOL_EXISTS: {
    kind: 'already_exists',
    message: 'there is a pool named <pool> already',
    cause: 'a pool has the name',
    fix: 'choose another name, or use the pool that exists',
    commands: ['{ingot} pool list'],
  },
} as const satisfies Record<string, ReasonRow>;
