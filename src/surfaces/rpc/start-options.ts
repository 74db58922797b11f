/** What every call that starts an operation may say beside its own parameters: why, and that an admin overrides budgets. */
import type { Caller } from '../../domain/access/caller.ts';
import { isRole, roleCovers } from '../../domain/actor.ts';
import type { BudgetOverride } from '../../domain/budget/budget.ts';
import { Fault, missingField } from '../../domain/error/fault.ts';
import { checkText } from '../../domain/machine/machine-input.ts';

export interface StartOptionsMessage {
  readonly reason: string;
  readonly overrideBudget: boolean;
}

export interface StartOptions {
  readonly reason: string;
  readonly overrideBudget: BudgetOverride | null;
}

export function startOptions(request: StartOptionsMessage, caller: Caller): StartOptions {
  const reason = request.reason.trim() === '' ? '' : checkText(request.reason, 'reason', 1000);
  if (!request.overrideBudget) return { reason, overrideBudget: null };
  checkMayOverride(caller);
  if (reason === '') throw missingField('reason');
  return { reason, overrideBudget: { reason } };
}

/** Budgets protect the fleet from operators; only an admin decides against one. */
function checkMayOverride({ role, actor }: Pick<Caller, 'role' | 'actor'>): void {
  if (isRole(role) && roleCovers(role, 'admin')) return;
  throw new Fault('PERMISSION_DENIED', {
    message: `override_budget needs the role admin; ${actor.id} has ${role}`,
    metadata: { needed: 'admin', role, field: 'override_budget' },
  });
}
