/**
 * The address of a client, as tokens are bound to it: that of its connection. No header is believed, because every client
 * can send any. A connection that has ended has no address any more.
 */
export function clientAddress({ ip }: { readonly ip: string | undefined }): string {
  return (ip ?? '').replace(/^::ffff:(?=\d+\.)/, '');
}
