import { invalidField, missingField } from '../../../../domain/error/fault.ts';

const ROLLOUT_ID = /^ro-[a-z0-9]{1,60}$/;

export function checkRolloutId(id: string): string {
  if (id === '') throw missingField('rollout_id');
  if (ROLLOUT_ID.test(id)) return id;
  throw invalidField('rollout_id', 'is not a rollout id, which begin with ro-');
}
