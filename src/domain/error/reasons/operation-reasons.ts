/** Why an operation, an operator's action on it, or a plan is refused. */
import type { ReasonRow } from './reason-row.ts';

const ANOTHER_PLAN_ID = ['use a new plan_id', '{ingot} plan show {plan_id}   (what it is now)'] as const;

export const OPERATION_REASONS = {
  OPERATION_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no operation <operation_id>',
    cause: 'no operation has the id',
    fix: 'list the operations',
    commands: ['{ingot} {list_operations}'],
  },
  OPERATION_ACTIVE: {
    kind: 'failed_precondition',
    message: '<machine_id> has an active operation, <operation_id>',
    cause: 'a machine has one active operation at most, and some fields of its spec do not change under it',
    fix: 'wait for the operation, or cancel it',
    commands: [
      '{ingot} {watch_operation} {operation}   (wait for it)',
      '{ingot} {cancel_operation} {operation}',
    ],
  },
  BUDGET_EXCEEDED: {
    kind: 'failed_precondition',
    message:
      "<machine_id> can't be taken out of service: budget <budget> allows <limit> unavailable in <group>, and <unavailable> are: <machines>",
    cause:
      'a disruption budget, or a limit of the rollout, allows no more unavailable machines in the group of the machine',
    fix: 'wait until one of the machines that the message names is back in service; an admin may override the budget with a reason',
    commands: [
      '{ingot} budget list   (what is used)',
      '{ingot} list --filter available=false',
      'the same command with --override-budget --reason "…"   (admin)',
    ],
  },
  BUDGET_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no budget <budget>',
    cause: 'no budget that the caller may read has the name',
    fix: 'list the budgets',
    commands: ['{ingot} budget list'],
  },
  VIEW_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no view <view>',
    cause: 'the caller has no view of that name, or none is shared in its scope',
    fix: 'list the views',
  },
  BUDGET_EXISTS: {
    kind: 'already_exists',
    message: 'there is a budget named <budget> already',
    cause: 'a budget of the configuration or of the API has the name',
    fix: 'choose another name, or delete the budget that exists',
    commands: ['{ingot} budget list'],
  },
  BUDGET_CONFIGURED: {
    kind: 'failed_precondition',
    message: 'budget <budget> is of the configuration file; change it there',
    cause: 'budgets of the configuration belong to the file, and the API does not change them',
    fix: 'remove it from budgets: in the configuration file, and restart the server',
  },
  OPERATION_FINISHED: {
    kind: 'failed_precondition',
    message: '<operation_id> has already ended (<status>)',
    cause: 'an operation that has ended cannot be canceled',
    fix: 'see how it ended',
    commands: ['{ingot} {show_operation} {operation}'],
  },
  ACTION_NOT_APPLICABLE: {
    kind: 'failed_precondition',
    message: "<operation_id> can't take this action: <why>",
    cause: 'the action does not fit the status of the operation; the table is in docs/workflows.md',
    fix: 'take one of the actions that fit',
    commands: ['{ingot} op show {operation_id}'],
  },
  AWAITS_APPROVAL: {
    kind: 'failed_precondition',
    message: '<operation_id> waits for approval by rule <rule>: approve, reject or cancel it',
    cause:
      'a rule in the configuration asks for the approval of another operator before the operation starts',
    fix: 'let another operator approve it, or cancel it',
    commands: ['{ingot} op approve {operation_id}', '{ingot} op reject {operation_id} --reason "…"'],
  },
  NOT_AWAITING_APPROVAL: {
    kind: 'failed_precondition',
    message: '<operation_id> does not wait for approval: it <state>',
    cause: 'no rule asks for an approval of the operation, or it was decided, canceled or expired before',
    fix: 'see what became of it',
    commands: ['{ingot} op show {operation_id}'],
  },
  NOT_THE_APPROVER: {
    kind: 'permission_denied',
    message: "you can't approve <operation_id>: <why>",
    cause:
      'the caller asked for the operation, uses a token that its requester created, or has too low a role',
    fix: 'let another operator approve it',
    commands: ['{ingot} op show {operation_id}'],
  },
  MACHINE_CHANGED_SINCE: {
    kind: 'failed_precondition',
    message: '<machine_id> has changed since <operation_id> was asked for',
    cause: 'the phase, service state or install state of the machine is another one than at the request',
    fix: 'reject the operation, and ask again for the machine as it is',
    commands: ['{ingot} op reject {operation_id} --reason "…"', '{ingot} show {machine_id}'],
  },
  NO_TARGET_CLUSTER: {
    kind: 'failed_precondition',
    message: 'the plan needs the cluster of <machine_id>, and its spec.target_cluster_ref is empty',
    cause: 'a step joins, drains or checks a cluster, and neither the step nor the machine names one',
    fix: 'set spec.target_cluster_ref, or name the cluster in the step',
    commands: ['{ingot} update {machine_id} --cluster <name>'],
  },
  PLAN_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no plan <plan_id>',
    cause: 'no plan has the id',
    fix: 'list the plans',
    commands: ['{ingot} plan list'],
  },
  PLAN_BUILT_IN: {
    kind: 'failed_precondition',
    message: '<plan_id> is a default plan of the server; use another plan_id',
    cause: 'default plans come with the server and do not change',
    fix: 'create a plan with another plan_id',
    commands: ANOTHER_PLAN_ID,
  },
  PLAN_REFERENCED: {
    kind: 'failed_precondition',
    message: "plan <plan_id> was referenced by <run> and can't change any more",
    cause: 'a run used the plan, and the record of that run must keep its meaning',
    fix: 'create a plan with another plan_id',
    commands: ANOTHER_PLAN_ID,
  },
} as const satisfies Record<string, ReasonRow>;
