/** Boolean signals about a machine, each with a reason. Absent means: not known yet. */
export type ConditionType =
  | 'Reachable'
  | 'BMCReachable'
  | 'Provisioned'
  | 'InCustomerCluster'
  | 'Drained'
  | 'Degraded'
  | 'NeedsIntervention'
  | 'OperationCanceled'
  | 'RMA'
  | 'Retired';

export const CONDITIONS = {
  Reachable: 'responds to health checks',
  BMCReachable: 'its BMC answers',
  Provisioned: 'was imaged successfully at least once',
  InCustomerCluster: 'joined its Kubernetes cluster',
  Drained: 'carries no workloads',
  Degraded: 'works, but not as it should',
  NeedsIntervention: 'an operator must look',
  OperationCanceled: 'the last operation was canceled',
  RMA: 'flagged for return or replacement',
  Retired: 'decommissioned for good',
} as const satisfies Record<ConditionType, string>;

export const CONDITION_TYPES = Object.keys(CONDITIONS) as ConditionType[];

export interface Condition {
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
  readonly lastTransition: string;
}

export type Conditions = Partial<Record<ConditionType, Condition>>;

export interface ConditionChange {
  readonly type: ConditionType;
  readonly status: boolean;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** Only if the condition has one of these reasons now. */
  readonly ifReason?: readonly string[];
  /** Not if the condition is true for one of these reasons now, which have precedence. */
  readonly unlessReason?: readonly string[];
}

export function isTrue(conditions: Conditions, type: ConditionType): boolean {
  return conditions[type]?.status === true;
}

/** The reason of OperationCanceled after a canceled onboarding. */
export const ONBOARD_CANCELED = 'OnboardCanceled';

export function isOnboardCanceled({ OperationCanceled }: Conditions): boolean {
  return OperationCanceled?.status === true && OperationCanceled.reason === ONBOARD_CANCELED;
}

/** A machine that needs intervention, is retired, or whose onboarding was canceled does not come into service by itself. */
export function staysOutOfService(conditions: Conditions): boolean {
  return (
    isOnboardCanceled(conditions) || isTrue(conditions, 'NeedsIntervention') || isTrue(conditions, 'Retired')
  );
}

/** The time of the last transition moves only when the status does. */
export function applyCondition(conditions: Conditions, change: ConditionChange, at: string): Conditions {
  const before = conditions[change.type];
  const lastTransition = before?.status === change.status ? before.lastTransition : at;
  const { status, reason, message } = change;
  return { ...conditions, [change.type]: { status, reason, message, lastTransition } };
}

export function isConditionType(text: string): text is ConditionType {
  return text in CONDITIONS;
}
