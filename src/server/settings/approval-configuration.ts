/** `approvals:`, the rules by which operations wait until another operator approves. */
import { z } from 'zod';
import { ROLES } from '../../domain/actor.ts';
import { APPROVAL_FILTER } from '../../domain/filter/approval-filter.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { type ApprovalRule, approvalRule } from '../../domain/operation/approval.ts';

const DAY_SECONDS = 86_400;

const rule = z.strictObject({
  /** Shown with the operation; unless given, the filter. */
  name: z.string().min(1).max(100).optional(),
  /** Over the operation (type, mode, plan_id, params) and every field of its machine. */
  filter: z.string().trim().min(1, 'must name the operations; a rule for everything is type:*'),
  /** The least role that may approve. */
  approver_role: z.enum(ROLES).exclude(['viewer']).default('operator'),
  /** A request that no one answers for this long is canceled. */
  expires_after_seconds: z
    .int()
    .min(1)
    .max(90 * DAY_SECONDS)
    .default(DAY_SECONDS),
});

/** The filter stays text, because the configuration is sent to worker processes; `approvalRules` compiles it. */
export const approvalsConfiguration = z
  .array(z.union([rule, z.string().transform((filter) => rule.parse({ filter }))]))
  .max(1_000)
  .default([])
  .superRefine((rules, context) => {
    for (const [place, { filter }] of rules.entries()) {
      try {
        checkFilter(parseFilter(filter), APPROVAL_FILTER);
      } catch (error) {
        context.addIssue({ code: 'custom', path: [place, 'filter'], message: (error as Error).message });
      }
    }
  });

export function approvalRules(given: z.output<typeof approvalsConfiguration>): ApprovalRule[] {
  return given.map(({ name, filter, approver_role: approverRole, expires_after_seconds: seconds }) =>
    approvalRule(
      { name: name ?? filter, approverRole, expiresAfterSeconds: seconds },
      checkFilter(parseFilter(filter), APPROVAL_FILTER),
    ),
  );
}
