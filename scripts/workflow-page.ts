/** The page about workflows, from the tables that carry them out. */
import { ERASE_METHOD_NAMES, ERASE_METHODS } from '../src/domain/install/erasure.ts';
import { statesOf } from '../src/domain/lifecycle/lifecycle.ts';
import { type ServiceOwner, serviceLifecycle } from '../src/domain/machine/service-state.ts';
import { HARDWARE_OPERATION_NAMES, HARDWARE_OPERATIONS } from '../src/domain/operation/hardware-operation.ts';
import { operationLifecycle } from '../src/domain/operation/operation-status.ts';
import {
  OPERATOR_ACTION_NAMES,
  OPERATOR_ACTIONS,
  VERDICTS,
} from '../src/domain/operation/operator-action.ts';
import {
  DECOMMISSION_MODE_NAMES,
  DECOMMISSION_MODES,
  DECOMMISSION_STAGES,
  type DecommissionStage,
  DRAIN_STAGES,
  HOOKED_STAGES,
  ONBOARDING,
  REMOVE_STAGES,
  STAGES,
  type StageName,
} from '../src/domain/workflow/stage.ts';
import { code, page, table } from './markdown.ts';

const NOTE =
  '<!-- Written by scripts/pages.ts from the tables in src/domain and src/engine. Change those, not this page. -->';

const DECOMMISSION = Object.keys(DECOMMISSION_STAGES) as DecommissionStage[];

export function workflowPage(): string {
  return page([
    '# Workflows',
    NOTE,
    'Workflows are operations like all others; their stages are the steps of the operation. A stage probes first, adopts what is done already, and acts only where something is missing. Stages are no states of the machine. How they go and what stops them is in [maas.md](maas.md); what can be done about one that stopped is in [operator-actions.md](operator-actions.md).',
    '## Onboarding',
    `${ONBOARDING.length} stages, in this order. ${RETRIES}`,
    stageTable(ONBOARDING),
    '## Decommission',
    `${DECOMMISSION.length} stages. Each mode uses some of them.`,
    stageTable(DECOMMISSION),
    '### Modes',
    table(
      ['mode', 'what it is for'],
      DECOMMISSION_MODE_NAMES.map((mode) => [code(mode), DECOMMISSION_MODES[mode].purpose]),
    ),
    'Which mode uses which stage, and in which place. `drain` and `remove` are workflows of their own.',
    modeTable(),
    '## Hooks',
    `The site carries these stages out, where the configuration names a hook for them; without one nothing is called, and the stage says so. ${code('drain_node')} and ${code('validate_clean_node')} also wait until the agent reports no workloads. They are: ${HOOKED_STAGES.map(code).join(', ')}.`,
    '## Work on hardware',
    'Operations on machines that are nodes, started by admins. What they do, and what a cancel leaves, is in [nodes.md](nodes.md#erasing).',
    table(
      ['type', 'what it does', 'phase', 'install states that it starts from'],
      HARDWARE_OPERATION_NAMES.map((type) => {
        const { description, phases, installs } = HARDWARE_OPERATIONS[type];
        return [code(type), description, phases.map(code).join(', '), installs.map(code).join(', ')];
      }),
    ),
    'How a disk is erased, the surest way first:',
    table(
      ['method', 'what it is'],
      ERASE_METHOD_NAMES.map((method) => [code(method), ERASE_METHODS[method]]),
    ),
    '## Who moves the service state',
    table(['owner', 'transitions'], ownerRows()),
    '## Operator actions',
    table(
      ['action', 'command', 'what it does'],
      OPERATOR_ACTION_NAMES.map((action) => [
        code(action),
        code(`ingot op ${OPERATOR_ACTIONS[action].verb}`),
        OPERATOR_ACTIONS[action].effect,
      ]),
    ),
    'By the status of the operation: *act* changes it, *nothing* is a success that changes nothing, *refuse* is `ACTION_NOT_APPLICABLE`. `CancelOperation` of baremetal.v2 refuses everything that has ended with `OPERATION_FINISHED`.',
    table(
      ['action', ...statesOf(operationLifecycle).map(code)],
      OPERATOR_ACTION_NAMES.map((action) => [
        code(action),
        ...statesOf(operationLifecycle).map((status) => VERDICTS[action][status]),
      ]),
    ),
  ]);
}

const RETRIES =
  'The time limit is that of one attempt, all its waits included; retries are those of failures that may pass.';

function stageTable(stages: readonly StageName[]): string {
  return table(
    ['', 'stage', 'what it does', 'time limit', 'retries', 'by a hook', 'a cancel'],
    stages.map((stage, index) => {
      const { title, timeoutSeconds, maxRetries, undo } = STAGES[stage];
      const isHooked = (HOOKED_STAGES as readonly StageName[]).includes(stage);
      return [
        String(index + 1),
        code(stage),
        title,
        `${timeoutSeconds} s`,
        String(maxRetries),
        isHooked ? 'yes' : '–',
        'does' in undo ? undo.does : `– (${undo.stays})`,
      ];
    }),
  );
}

function modeTable(): string {
  const columns: ReadonlyArray<readonly [string, readonly DecommissionStage[]]> = [
    ...DECOMMISSION_MODE_NAMES.map((mode) => [mode, DECOMMISSION_MODES[mode].stages] as const),
    ['drain', DRAIN_STAGES],
    ['remove', REMOVE_STAGES],
  ];
  return table(
    ['stage', ...columns.map(([name]) => code(name))],
    DECOMMISSION.map((stage) => [code(stage), ...columns.map(([, stages]) => placeOf(stages, stage))]),
  );
}

function placeOf(stages: readonly DecommissionStage[], stage: DecommissionStage): string {
  const index = stages.indexOf(stage);
  return index === -1 ? '–' : String(index + 1);
}

function ownerRows(): string[][] {
  const owners = new Set<ServiceOwner>(serviceLifecycle.transitions.flatMap((known) => known.owners));
  return [...owners].map((owner) => [
    owner,
    serviceLifecycle.transitions
      .filter((known) => (known.owners as readonly ServiceOwner[]).includes(owner))
      .map(({ from, to }) => code(`${from} → ${to}`))
      .join(', '),
  ]);
}
