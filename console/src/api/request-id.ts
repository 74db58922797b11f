/**
 * One id per decision. It is created when the dialog opens, so that a second click, or a retry after a lost response,
 * is the same request.
 */
export function newRequestId(): string {
  // Not randomUUID: browsers do not offer it to pages without TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
