import { StepFailure } from '../../../engine/step-handler.ts';

/** The BMC answers, and does not carry out what it was asked for: another one of its kind might. */
export function isRefusedByBmc(error: unknown): boolean {
  return (
    error instanceof StepFailure &&
    (error.failure.code === 'BMC_REFUSED' || error.failure.code === 'REDFISH_NOT_OFFERED')
  );
}

/** The BMC answers, and does not take our login. */
export function isLoginRefused(error: unknown): boolean {
  return error instanceof StepFailure && error.failure.code === 'AUTHENTICATION_FAILED';
}

/** The BMC has accepted another boot device than it shows. */
export function bootDeviceNotSet(where: string, wanted: string, set: string, hint = ''): StepFailure {
  const message = `the BMC ${where} was set to boot from ${wanted} and says ${set}${hint}`;
  return new StepFailure({ class: 'retryable', code: 'BOOT_DEVICE_NOT_SET', message });
}
