/**
 * One id for one decision: it is made when the dialog opens, so that a second click, or a repeat after an answer that
 * was lost, is the same request.
 */
export function newRequestId(): string {
  // Not randomUUID, which browsers keep back from pages without TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
