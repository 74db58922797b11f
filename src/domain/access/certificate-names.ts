/** The names in a client certificate, and the patterns of the configuration that match them. */

/** A DNS name is in lower case. */
export interface CertificateName {
  readonly kind: 'DNS' | 'URI';
  readonly value: string;
}

export interface NamePattern extends CertificateName {
  /** `any`: the value is followed by anything. `label`: one label comes before it. */
  readonly match: 'exact' | 'any' | 'label';
}

/** Values that could be confused with the separators are written as JSON strings. */
const NAME = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)/y;
const LABEL = /^[a-z0-9_-]+$/;

/** Reads what Node.js calls `subjectaltname`. Names of other kinds are left out; a text that is not fully understood has none. */
export function certificateNames(text: string | undefined): CertificateName[] {
  const names: CertificateName[] = [];
  NAME.lastIndex = 0;
  while (text && NAME.lastIndex < text.length) {
    const [, kind, written = ''] = NAME.exec(text) ?? [];
    if (kind === undefined) return [];
    if (kind !== 'DNS' && kind !== 'URI') continue;
    const value = written.startsWith('"') ? String(JSON.parse(written)) : written;
    names.push({ kind, value: kind === 'DNS' ? value.toLowerCase() : value });
  }
  return names;
}

/** A text says what is wrong. The host of a URI must be whole: `spiffe://acme*` would also match `spiffe://acme.elsewhere`. */
export function parseNamePattern(text: string): NamePattern | string {
  if (text.includes('://')) {
    const [, start = '', star = ''] =
      /^([a-z][a-z0-9+.-]*:\/\/[A-Za-z0-9._:@-]+(?:\/[\x21-\x29\x2b-\x7e]*)?)(\*?)$/.exec(text) ?? [];
    const isWhole = star === '' || /^[^:]+:\/\/[^/]+\//.test(start);
    if (start === '' || !isWhole)
      return 'must be a URI, such as spiffe://acme/ops, or end with /*, such as spiffe://acme/ops/*';
    return { kind: 'URI', value: start, match: star === '' ? 'exact' : 'any' };
  }
  const [, star = '', name = ''] = /^(\*\.)?([A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)$/.exec(text) ?? [];
  if (name === '') return 'must be a DNS name, such as ops.example.com or *.ops.example.com, or a URI';
  const value = star === '' ? name : `.${name}`;
  return { kind: 'DNS', value: value.toLowerCase(), match: star === '' ? 'exact' : 'label' };
}

/** What the star stands for; empty where the pattern has none. Null: the name does not match. */
export function matchName({ kind, value, match }: NamePattern, name: CertificateName): string | null {
  if (name.kind !== kind) return null;
  if (match === 'exact') return name.value === value ? '' : null;
  if (match === 'any') return name.value.startsWith(value) ? name.value.slice(value.length) : null;
  const label = name.value.endsWith(value) ? name.value.slice(0, -value.length) : '';
  return LABEL.test(label) ? label : null;
}
