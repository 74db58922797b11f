/** Failures of steps that change a machine's hardware: settings, firmware, volumes. */
import type { FailureRow } from './advice.ts';

export const HARDWARE_FAILURES = {
  SETTINGS_REFUSED: {
    classes: ['permanent'],
    whatHappened:
      'the firmware does not have a setting or a boot option that the step names, or can not have that value',
    check: 'correct the plan by what the error lists; nothing was changed',
    action: 'retry_stage',
    who: 'operator',
  },
  SETTINGS_NOT_APPLIED: {
    classes: ['needs_human'],
    whatHappened: 'the BMC accepted settings, and they are not in force after a reset',
    check:
      'see on the console of the machine what its firmware says, and whether another setting rules these out',
    action: 'retry_stage',
    who: 'site',
  },
  FIRMWARE_REFUSED: {
    classes: ['permanent'],
    whatHappened:
      'the image is not the one of the digest, is too large, or is for a component that the BMC does not list',
    check: 'correct the plan by what the error says; nothing was sent to the BMC',
    action: 'retry_stage',
    who: 'operator',
  },
  FIRMWARE_IMAGE_UNREACHABLE: {
    classes: ['retryable'],
    whatHappened: 'the server can not fetch the image of the firmware',
    check: 'see that the address of the image answers from the server; nothing was sent to the BMC',
    action: 'retry_stage',
    who: 'operator',
  },
  FIRMWARE_UPDATE_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'the BMC took an update of firmware, and the component does not have the wanted version',
    check:
      'see what the BMC says of it in the error, and that the component works; then have it updated again',
    action: 'retry_stage',
    who: 'site',
  },
  FIRMWARE_UPDATE_UNKNOWN: {
    classes: ['effect_unknown'],
    whatHappened: 'an update of firmware may be under way, and the BMC does not say so',
    check: 'see on the pages of the BMC that no update is under way, and which version the component has',
    action: 'retry_stage',
    who: 'site',
  },
  VOLUMES_REFUSED: {
    classes: ['permanent'],
    whatHappened: 'no storage controller has the drives that the step names',
    check: 'correct the plan by the drives that the error lists; nothing was changed',
    action: 'retry_stage',
    who: 'operator',
  },
  VOLUMES_IN_THE_WAY: {
    classes: ['permanent'],
    whatHappened: 'other volumes are on the drives, and the step may not delete them',
    check: 'save what is on them; then delete them, or use a plan with destroy_existing',
    action: 'retry_stage',
    who: 'operator',
  },
  VOLUME_CHANGE_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'the storage controller took a change of its volumes, and it failed',
    check: 'see what the BMC says of it in the error, and the health of the drives',
    action: 'retry_stage',
    who: 'site',
  },
  BURN_IN_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'a part of the machine failed its burn-in, or the machine could not be tested',
    check:
      'replace the parts that the error names, or see on the console of the machine why its test did not end',
    action: 'retry_stage',
    who: 'site',
  },
  INSPECTION_FAILED: {
    classes: ['needs_human'],
    whatHappened:
      'the machine booted its installer to be inspected, and the installer could not report the hardware',
    check:
      'see the console of the machine; an inspection without --in-band reads the hardware through the BMC',
    action: 'retry_stage',
    who: 'site',
  },
  NOT_IN_MAINTENANCE: {
    classes: ['permanent'],
    whatHappened: 'the machine left maintenance while a step was under way that destroys data or reboots it',
    check: 'bring the machine into maintenance again, if what is on its drives or runs there may go',
    action: 'retry_stage',
    who: 'operator',
  },
} as const satisfies Record<string, FailureRow>;
