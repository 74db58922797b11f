/** What the JSON of a service has, as values of known types: what has another type is empty. */

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The texts of a list; what is no text is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];
}

/** The objects of a list. */
export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/**
 * The path that a link leads to: `{ "@odata.id": "/redfish/v1/…" }`. Of a whole address only the path is used, so that it leads nowhere
 * else. Null: there is none.
 */
export function linkOf(value: unknown): string | null {
  const link = textOf(fieldsOf(value)['@odata.id']);
  if (/^https?:/i.test(link)) return pathOf(link);
  return link.startsWith('/') && !link.startsWith('//') ? link : null;
}

/** The paths that the links of a list lead to. */
export function linksOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : []).map(linkOf).filter((path) => path !== null);
}

/** A location is a path or a whole address of the same service; only its path is used. */
export function pathOf(location: string | undefined): string | null {
  if (location === undefined || location === '' || !URL.canParse(location, 'https://bmc/')) return null;
  const { pathname, search } = new URL(location, 'https://bmc/');
  return `${pathname}${search}`;
}

const UNPRINTABLE = /[\p{C}\s]+/gu;

/** In one line for people, and not too long: a BMC's own words may have anything in them. */
export function printable(text: string, most: number): string {
  return text.replaceAll(UNPRINTABLE, ' ').trim().slice(0, most);
}
