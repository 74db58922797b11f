/** Signing in, or renewing a sign-in, did not work. Nothing was sent to the server. */
export class SignInFailed extends Error {
  override readonly name = 'SignInFailed';
}
