/**
 * The versions of a resource, as a change may have to name them. DSP0266 has the same one in the header and in the body; services differ, and
 * If-Match compares strongly (RFC 9110), so the form in which it was given may be one that never matches. Each is tried in its turn: a service
 * that takes none of them has not changed anything.
 */

/** As they were given first, and then without what a web server in front of the service has added. */
export function versionsOf(header: string, body: string): string[] {
  const given = [header, body].filter((version) => version !== '');
  return [...new Set([...given, ...given.map(plain)])];
}

/**
 * Without the mark of a weak one, without the suffix of an answer that was compressed (Apache and nginx add it inside of the quotes), and in one
 * pair of quotes: some services quote twice.
 */
function plain(version: string): string {
  const bare = version
    .replace(/^W\//, '')
    .replace(/^"+|"+$/g, '')
    .replace(/(?:[-;:]|--)(?:gzip|br|deflate)$/, '');
  return `"${bare}"`;
}
