/**
 * ssh2, loaded when it is first used: it is a twentieth of what a server loads to start, and a fleet without SSH never needs it.
 */
import { createRequire } from 'node:module';
import type ssh2 from 'ssh2';

const require = createRequire(import.meta.url);

export function sshLibrary(): typeof ssh2 {
  return require('ssh2') as typeof ssh2;
}
