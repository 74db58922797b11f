/** What PostgreSQL's jsonb can't hold: NUL, and half of a surrogate pair. */
const UNSTORABLE = /[\0\p{Cs}]/gu;

/**
 * JSON that jsonb takes. Text from a machine may hold anything, and one such character would refuse the write of
 * everybody in the same batch, and of its own operation for ever.
 */
export function toStoredJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Both kinds are written as an escape; without any escape there is nothing to look for.
  if (!json.includes('\\u')) return json;
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replace(UNSTORABLE, '\ufffd') : part,
  );
}
