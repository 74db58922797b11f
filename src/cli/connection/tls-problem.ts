/** Why a TLS connection was not made, in words that name what to do. */

const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/certificate has expired/, 'its certificate has expired'],
  [/certificate is not yet valid/, 'its certificate is not valid yet; compare the clocks'],
  [
    /unable to (?:verify the first|get (?:local )?issuer) certificate|self-signed certificate/,
    'its certificate is of an authority that is not trusted here; name the CA of the server with --ca-file or INGOT_CA_FILE',
  ],
  [/wrong version number|packet length too long|http request/, 'it answers without TLS'],
  [
    /alert (?:bad certificate|unknown ca|certificate unknown|certificate required)/i,
    'it refuses the certificate of this client',
  ],
];

/** Null: the text is of another error. */
export function tlsProblem(text: string): string | null {
  const [, names] = /Hostname\/IP does not match certificate's altnames: (.*)/.exec(text) ?? [];
  if (names !== undefined)
    return `its certificate is for other names (${names.replace(/\. Resolution note:.*/, '')})`;
  return PROBLEMS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
