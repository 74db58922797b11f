/** The settings of the server, from the table that reads them. */
import { SETTINGS } from '../src/server/settings/settings.ts';
import { code, table } from './markdown.ts';

/** The rows of docs/settings.md between its markers; what is around them is written by hand. */
export function settingsTable(): string {
  return table(
    ['variable', 'flag', 'default', 'meaning'],
    Object.values(SETTINGS).map(({ variable, flag, value, fallback, description }) => [
      code(variable),
      code(value === null ? flag : `${flag} <${value}>`),
      fallback === '' ? 'none' : code(fallback),
      description,
    ]),
  );
}
