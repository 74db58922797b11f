import { useState } from 'react';
import { chooseTheme, THEMES, type Theme, theme } from './theme.ts';

export function ThemeChoice() {
  const [chosen, setChosen] = useState<Theme>(theme);
  const choose = (next: Theme) => {
    chooseTheme(next);
    setChosen(next);
  };
  return (
    <select
      className="input"
      aria-label="Theme"
      value={chosen}
      onChange={(event) => choose(event.target.value as Theme)}
    >
      {Object.entries(THEMES).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
