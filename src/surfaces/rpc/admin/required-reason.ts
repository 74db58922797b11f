import { missingField } from '../../../domain/error/fault.ts';
import { checkText } from '../../../domain/machine/machine-input.ts';

export function requiredReason(reason: string): string {
  if (reason.trim() === '') throw missingField('reason');
  return checkText(reason, 'reason', 1000);
}

export function optionalReason(reason: string): string {
  return reason.trim() === '' ? '' : checkText(reason, 'reason', 1000);
}
