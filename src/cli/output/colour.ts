import type { EFFECTIVE_STATES } from '../../domain/machine/effective-state.ts';

export type Colour = (typeof EFFECTIVE_STATES)[keyof typeof EFFECTIVE_STATES]['colour'];

const SGR = {
  gray: '90',
  green: '32',
  blue: '34',
  yellow: '33',
  orange: '38;5;208',
  red: '31',
} as const satisfies Record<Colour, string>;

export function paint(text: string, colour: Colour): string {
  return `\u001b[${SGR[colour]}m${text}\u001b[0m`;
}
