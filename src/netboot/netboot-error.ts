/** A wrong option, in one line. */
export class NetbootError extends Error {
  override readonly name = 'NetbootError';
}
