/** Failures of onboarding and decommission: the state in the MAAS is not one that the workflow can use. */
import type { FailureRow } from './advice.ts';

export const ONBOARDING_FAILURES = {
  CONFLICTING_CANDIDATES: {
    classes: ['needs_human'],
    whatHappened: 'several machines in the MAAS have addresses of this one',
    check: 'correct spec.mac_addresses, or delete the wrong record in the MAAS',
    action: 'retry_stage',
    who: 'upstream',
  },
  MACHINE_GONE: {
    classes: ['needs_human'],
    whatHappened: 'the record of the machine was deleted from the MAAS during the workflow',
    check: 'find out who deleted it, and that the hardware is there; a rerun adds it again',
    action: 'rerun',
    who: 'operator',
  },
  COMMISSIONING_FAILED: {
    classes: ['retryable'],
    whatHappened: 'the MAAS could not commission the machine',
    check: 'inspect its commissioning results in the MAAS, its power, its boot from the network',
    action: 'retry_stage',
    who: 'site',
  },
  FAILED_TESTING: {
    classes: ['needs_human'],
    whatHappened: 'tests of the machine failed in the MAAS, so it does not commission or release it',
    check:
      'inspect its test results; repair it and test it again in the MAAS, or go on as it is: the action then overrides the failed tests',
    action: 'retry_stage',
    who: 'site',
  },
  BROKEN: {
    classes: ['needs_human'],
    whatHappened: 'the MAAS calls the machine broken',
    check: 'repair it, then mark it fixed in the MAAS',
    action: 'retry_stage',
    who: 'site',
  },
  BOOT_DISK_NOT_FOUND: {
    classes: ['needs_human'],
    whatHappened: 'no disk of the machine has the model that it must boot from',
    check:
      'seat or replace the disk and commission the machine in the MAAS, or correct storage.boot_disk_model',
    action: 'retry_stage',
    who: 'site',
  },
  PXE_NOT_FIXABLE: {
    classes: ['needs_human'],
    whatHappened: 'the boot interface is missing in the MAAS, or does not stay AUTO',
    check: 'inspect the cabling and the interfaces of the machine in the MAAS',
    action: 'retry_stage',
    who: 'site',
  },
  DEPLOYMENT_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'the MAAS could not deploy the machine',
    check: 'inspect its installation log in the MAAS; a rerun releases the machine and deploys it again',
    action: 'rerun',
    who: 'site',
  },
  DATASOURCE_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'the deployed system did not find its datasource, several times',
    check: 'inspect the network between the machine and the metadata service of the MAAS',
    action: 'retry_stage',
    who: 'site',
  },
  HARDWARE_SYNC_OFF: {
    classes: ['needs_human'],
    whatHappened: 'the machine was deployed without hardware sync, which the site requires',
    check: 'release the machine in the MAAS, so that a rerun deploys it with hardware sync',
    action: 'rerun',
    who: 'upstream',
  },
  HARDWARE_SYNC_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'the deployed machine does not report its hardware to the MAAS',
    check: 'inspect the hardware sync service on the machine, and its network to the MAAS',
    action: 'retry_stage',
    who: 'site',
  },
  AGENT_NEVER_ENROLLED: {
    classes: ['needs_human'],
    whatHappened: 'the agent of the deployed machine did not register in time',
    check: 'cloud-init and the agent on the machine, and its network to Ingot',
    action: 'retry_stage',
    who: 'site',
  },
  UNEXPECTED_MAAS_STATE: {
    classes: ['needs_human'],
    whatHappened: 'the machine is in a state in the MAAS that the workflow cannot go on from',
    check: 'find out what is done with it in the MAAS; let that end, so that it is New, Ready or Deployed',
    action: 'rerun',
    who: 'upstream',
  },
  UPSTREAM_DRIFTED: {
    classes: ['needs_human'],
    whatHappened: 'the state of the machine in the MAAS changed after its onboarding had failed',
    check: 'find out what is done with it in the MAAS; let that end, so that it is New, Ready or Deployed',
    action: 'rerun',
    who: 'upstream',
  },
  RELEASE_FAILED: {
    classes: ['retryable'],
    whatHappened: 'the MAAS could not release or erase the machine',
    check: 'inspect its events in the MAAS, its power and its disks',
    action: 'retry_stage',
    who: 'site',
  },
} as const satisfies Record<string, FailureRow>;
