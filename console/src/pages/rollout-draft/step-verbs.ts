/** What a rollout can do on each machine, and the fields of each step. */
import { MACHINE_ACTIONS, type MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import type { RolloutStep } from '../../../../src/domain/rollout/spec/rollout-spec.ts';
import { RUN_TYPE_NAMES } from '../../../../src/domain/v1/run-type.ts';
import { DECOMMISSION_MODE_NAMES } from '../../../../src/domain/workflow/stage.ts';

export type Verb = RolloutStep['verb'];

export interface StepField {
  /** As in the API. */
  readonly name: string;
  readonly title: string;
  readonly kind: 'text' | 'check' | 'image' | 'pool' | 'plan' | 'choice';
  readonly choices?: readonly string[];
  readonly placeholder?: string;
  /** What to say when it is empty; absent: it may be. */
  readonly needed?: string;
}

export interface VerbInfo {
  readonly title: string;
  readonly effect: string;
  /** Data or the identity of the machine is lost. */
  readonly destructive: boolean;
  /** What starts it on a single machine. */
  readonly method: string;
  readonly fields: readonly StepField[];
}

function ofAction(action: MachineAction, fields: readonly StepField[] = []): VerbInfo {
  const { title, effect, confirm, method } = MACHINE_ACTIONS[action];
  return { title, effect, destructive: confirm === 'name', method, fields };
}

const VERBS = {
  reboot: ofAction('reboot'),
  reimage: ofAction('reimage', [{ name: 'image_ref', title: 'Image (optional)', kind: 'image' }]),
  'enter-maintenance': ofAction('enter_maintenance', [
    { name: 'duration', title: 'Duration (optional)', kind: 'text', placeholder: '2h' },
    { name: 'reason', title: 'Reason of the maintenance (optional)', kind: 'text' },
    { name: 'exit_when_over', title: 'Leave maintenance when the duration is over', kind: 'check' },
  ]),
  'exit-maintenance': ofAction('exit_maintenance'),
  verify: {
    title: 'Verify',
    effect: 'Wait until the machine is well, and has been for a time',
    destructive: false,
    method: 'baremetal.fleet.v1.RolloutService/CreateRollout',
    fields: [
      { name: 'condition', title: 'Condition that must be true', kind: 'text', placeholder: 'Provisioned' },
      { name: 'filter', title: 'Or a filter', kind: 'text', placeholder: 'presence=ready' },
      { name: 'for', title: 'For (optional)', kind: 'text', placeholder: '30s' },
      { name: 'timeout', title: 'Time limit (optional)', kind: 'text', placeholder: '30m' },
    ],
  },
  drain: ofAction('drain'),
  onboard: ofAction('onboard', [
    { name: 'pool', title: 'Worker pool', kind: 'pool', needed: 'Select a pool.' },
  ]),
  decommission: ofAction('decommission', [
    {
      name: 'mode',
      title: 'Mode',
      kind: 'choice',
      choices: DECOMMISSION_MODE_NAMES,
      needed: 'Select a mode.',
    },
  ]),
  remove: ofAction('remove'),
  erase: ofAction('erase', [
    { name: 'overwrite', title: 'Overwrite (optional)', kind: 'choice', choices: ['ends', 'whole'] },
  ]),
  plan: {
    title: 'Run a plan',
    effect: 'Run a plan of the v1 API',
    destructive: true,
    method: 'baremetal.v1.RunService/StartRun',
    fields: [
      { name: 'plan_id', title: 'Plan', kind: 'plan' },
      { name: 'type', title: 'Type', kind: 'choice', choices: RUN_TYPE_NAMES },
    ],
  },
} as const satisfies Record<Verb, VerbInfo>;

export const VERB_NAMES = Object.keys(VERBS) as Verb[];

export function verbInfo(verb: Verb): VerbInfo {
  return VERBS[verb];
}
