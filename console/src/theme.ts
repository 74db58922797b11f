/** How the console looks on this computer: colours and density. */
export const THEMES = { system: 'System', light: 'Light', dark: 'Dark' } as const;
export type Theme = keyof typeof THEMES;

export const DENSITIES = { comfortable: 'Comfortable', compact: 'Compact' } as const;
export type Density = keyof typeof DENSITIES;

const THEME_KEY = 'ingot.theme';
const DENSITY_KEY = 'ingot.density';

export function theme(): Theme {
  const stored = localStorage.getItem(THEME_KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(THEME_KEY, chosen);
  applyTheme();
}

export function density(): Density {
  return localStorage.getItem(DENSITY_KEY) === 'compact' ? 'compact' : 'comfortable';
}

export function chooseDensity(chosen: Density): void {
  localStorage.setItem(DENSITY_KEY, chosen);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  document.documentElement.dataset.density = density();
}

/** The height of a table's row, as --row of tokens.css has it: long lists are laid out before they are drawn. */
export const ROW_HEIGHTS = { comfortable: 40, compact: 32 } as const satisfies Record<Density, number>;
