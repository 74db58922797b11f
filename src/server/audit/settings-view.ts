/**
 * The settings and the configuration as an event shows them: one text for each value, by its path. What may hold a secret is not
 * shown, only whether it changed: by a fingerprint that no one computes without the audit key. Long values are cut, and have one, too.
 */
const MAX_VALUES = 500;
const MAX_TEXT = 120;
const SECRET =
  /secret|password|passphrase|token(?!s\.|_(?:file|env|seconds))|user_?data|network_?config|private|credential/i;

export type SettingsView = Readonly<Record<string, string>>;

export function settingsView(given: unknown, fingerprint: (text: string) => string): SettingsView {
  const view: Record<string, string> = {};
  let left = MAX_VALUES;
  const add = (path: string, value: unknown): void => {
    if (isRecord(value)) {
      for (const [name, inner] of Object.entries(value)) add(path === '' ? name : `${path}.${name}`, inner);
      return;
    }
    const text = typeof value === 'string' ? value : (JSON.stringify(value, plain) ?? '');
    if (text === '' || text === 'null' || text === '[]') return;
    left -= 1;
    if (left >= 0) view[path.slice(0, MAX_TEXT)] = shown(path, text, fingerprint);
  };
  add('', given);
  return left >= 0 ? view : { ...view, '…': `${-left} more, ${fingerprint(JSON.stringify(given, plain))}` };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Map);
}

function plain(_name: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value instanceof RegExp ? String(value) : value;
}

function shown(path: string, text: string, fingerprint: (text: string) => string): string {
  if (SECRET.test(path)) return `(not shown, ${fingerprint(text)})`;
  const bare = text.replace(/(\w:\/\/)[^@/\s"]*@/g, '$1…@');
  // A password in a URL is not shown, and a change of it is.
  if (bare !== text) return `${bare.slice(0, MAX_TEXT)} (${fingerprint(text)})`;
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${fingerprint(text)})`;
}
