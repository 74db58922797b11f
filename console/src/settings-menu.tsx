/** The menu of the signed-in caller: who it is, how the console looks, and the way out. */
import { useState } from 'react';
import { useIdentity } from './identity.tsx';
import { signOut } from './session.ts';
import {
  chooseDensity,
  chooseTheme,
  DENSITIES,
  type Density,
  density,
  THEMES,
  type Theme,
  theme,
} from './theme.ts';
import { Button } from './ui/button.tsx';
import { ZONES, type Zone } from './ui/clock-text.ts';
import { Icon } from './ui/icon.tsx';
import { Menu } from './ui/menu.tsx';
import { useToasts } from './ui/toasts.tsx';
import { chooseZone, useZone } from './ui/zone.ts';

export function SettingsMenu() {
  const { name, role, scope } = useIdentity();
  const [colours, setColours] = useState<Theme>(theme);
  const [rows, setRows] = useState<Density>(density);
  const times = useZone();
  return (
    <Menu
      label={`Account and settings of ${name}`}
      button={
        <>
          <Icon name="user" />
          <span className="account-name">
            {name} ({role})
          </span>
        </>
      }
    >
      <div className="menu-section">
        <strong>{name}</strong>
        <span className="soft">Role {role}</span>
        <span className="soft">{scope === '' ? 'The whole fleet' : `Scope ${scope}`}</span>
      </div>
      <div className="menu-section">
        <Choice
          title="Theme"
          value={colours}
          options={THEMES}
          onChange={(next: Theme) => {
            chooseTheme(next);
            setColours(next);
          }}
        />
        <Choice
          title="Density"
          value={rows}
          options={DENSITIES}
          onChange={(next: Density) => {
            chooseDensity(next);
            setRows(next);
          }}
        />
        <Choice title="Times" value={times} options={ZONES} onChange={(next: Zone) => chooseZone(next)} />
      </div>
      <div className="menu-section">
        <SignOutButton />
      </div>
    </Menu>
  );
}

interface ChoiceProps<Value extends string> {
  readonly title: string;
  readonly value: Value;
  readonly options: Readonly<Record<Value, string>>;
  readonly onChange: (value: Value) => void;
}

function Choice<Value extends string>({ title, value, options, onChange }: ChoiceProps<Value>) {
  return (
    <label className="menu-choice">
      <span>{title}</span>
      <select className="input" value={value} onChange={(event) => onChange(event.target.value as Value)}>
        {Object.entries<string>(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Until the server has ended the session, the user is not signed out. */
function SignOutButton() {
  const { notifyFailure } = useToasts();
  const leave = () => {
    signOut().catch((error: unknown) => notifyFailure('You are not signed out', error));
  };
  return (
    <Button kind="quiet" onClick={leave}>
      Sign out
    </Button>
  );
}
