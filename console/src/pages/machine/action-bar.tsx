/** The four actions of docs/operations-api.md as buttons, all others in a menu. */
import {
  MACHINE_ACTION_NAMES,
  MACHINE_ACTIONS,
  type MachineAction,
  type MachineActionInfo,
} from '../../../../src/domain/machine/machine-action.ts';
import type { MenuAction } from '../../ui/action-menu.tsx';
import { ActionRow } from '../../ui/action-row.tsx';

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
  const offered = (action: MachineAction): MenuAction => {
    const { title, effect, confirm }: MachineActionInfo = MACHINE_ACTIONS[action];
    return {
      key: action,
      title,
      effect,
      isDangerous: confirm === 'name',
      disabledBecause: whyNotNow(action),
      run: () => onAction(action),
    };
  };
  return <ActionRow actions={FIRST.map(offered)} more={MORE.map(offered)} />;
}
