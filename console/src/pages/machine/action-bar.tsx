/** The four actions of docs/operations-api.md as buttons, all others in a menu. */
import {
  MACHINE_ACTION_NAMES,
  MACHINE_ACTIONS,
  type MachineAction,
  type MachineActionInfo,
} from '../../../../src/domain/machine/machine-action.ts';
import { ActionMenu } from '../../ui/action-menu.tsx';
import { Button } from '../../ui/button.tsx';

const FIRST = [
  'reboot',
  'reimage',
  'enter_maintenance',
  'exit_maintenance',
] as const satisfies readonly MachineAction[];
const MORE = MACHINE_ACTION_NAMES.filter((action) => !(FIRST as readonly string[]).includes(action));

export interface ActionBarProps {
  readonly whyNotNow: (action: MachineAction) => string;
  readonly onAction: (action: MachineAction) => void;
}

export function ActionBar({ whyNotNow, onAction }: ActionBarProps) {
  return (
    <>
      {FIRST.map((action) => (
        <Button
          key={action}
          kind={MACHINE_ACTIONS[action].confirm === 'name' ? 'danger' : 'plain'}
          disabledBecause={whyNotNow(action)}
          onClick={() => onAction(action)}
        >
          {MACHINE_ACTIONS[action].title}
        </Button>
      ))}
      <ActionMenu
        actions={MORE.map((action) => {
          const { title, effect, confirm }: MachineActionInfo = MACHINE_ACTIONS[action];
          return {
            key: action,
            title,
            effect,
            isDangerous: confirm === 'name',
            disabledBecause: whyNotNow(action),
            run: () => onAction(action),
          };
        })}
      />
    </>
  );
}
