/** The actions of a page or panel as buttons. On a phone, which has room for one row, most of them are in the menu. */
import { ActionMenu, type MenuAction } from './action-menu.tsx';
import { Button } from './button.tsx';
import { usePhone } from './use-phone.ts';

/** How many buttons fit beside the menu. */
const ON_A_PHONE = 1;

export interface ActionRowProps {
  /** Buttons, where there is room. */
  readonly actions: readonly MenuAction[];
  /** Always in the menu. */
  readonly more?: readonly MenuAction[];
  /** The accessible name of the menu, where the page has another one. */
  readonly menuLabel?: string;
}

export function ActionRow({ actions, more = [], menuLabel }: ActionRowProps) {
  const isPhone = usePhone();
  const shown = isPhone ? firstAvailable(actions) : actions;
  const rest = [...actions.filter((action) => !shown.includes(action)), ...more];
  return (
    <>
      {shown.map(({ key, title, isDangerous, disabledBecause, run }) => (
        <Button
          key={key}
          kind={isDangerous ? 'danger' : 'plain'}
          disabledBecause={disabledBecause}
          onClick={run}
        >
          {title}
        </Button>
      ))}
      {rest.length > 0 && <ActionMenu actions={rest} label={menuLabel} />}
    </>
  );
}

/** One that can be used is worth its place; otherwise the first, which says why none can. */
function firstAvailable(actions: readonly MenuAction[]): readonly MenuAction[] {
  const available = actions.filter(({ disabledBecause }) => disabledBecause === '');
  return (available.length > 0 ? available : actions).slice(0, ON_A_PHONE);
}
