/** Why the installer can't be built, in one line. */
export class InstallerError extends Error {
  override readonly name = 'InstallerError';
}
