/** What jsonb can't store: NUL, and unpaired surrogates. */
const UNSTORABLE = /[\0\p{Cs}]/gu;

/**
 * JSON that jsonb accepts. Text from a machine may hold anything, and one such character would fail the write of the whole
 * batch, and that of its own operation forever.
 */
export function toStoredJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Both are escaped in JSON; without an escape there is nothing to replace.
  if (!json.includes('\\u')) return json;
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replace(UNSTORABLE, '\ufffd') : part,
  );
}
