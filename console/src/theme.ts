/** Dark or light: the system's setting, unless the user chose one. */
export const THEMES = { system: 'System', light: 'Light', dark: 'Dark' } as const;
export type Theme = keyof typeof THEMES;

const KEY = 'ingot.theme';

export function theme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
}
