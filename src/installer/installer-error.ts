/** Says in one line, to a person, why there can be no installer. */
export class InstallerError extends Error {
  override readonly name = 'InstallerError';
}
