/** Times of a clock as text, in the zone that the user chose or in the other one. */
export const ZONES = { local: 'Local time', utc: 'UTC' } as const;
export type Zone = keyof typeof ZONES;

/** 2026-03-14 09:26:53, in the zone. */
export function clockText(ms: number, in_: Zone): string {
  const date = new Date(ms);
  const shifted = in_ === 'utc' ? date : new Date(ms - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19).replace('T', ' ');
}

/** With the name of the zone, for the tooltip of a time in the other one. */
export function clockWithZone(ms: number, in_: Zone): string {
  if (in_ === 'utc') return `${clockText(ms, 'utc')} UTC`;
  const minutes = -new Date(ms).getTimezoneOffset();
  const two = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, '0');
  return `${clockText(ms, 'local')} UTC${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}
