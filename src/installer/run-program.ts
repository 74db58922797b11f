/** Runs a program of Debian to its end. If it fails, the error is its output. */
import { execFile } from 'node:child_process';
import { InstallerError } from './installer-error.ts';

export function runProgram(program: string, args: readonly string[], cwd: string): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C' };
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      reject(new InstallerError(explain(program, args, error, stderr)));
    });
  });
}

function explain(program: string, args: readonly string[], error: Error, stderr: string): string {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT')
    return `there is no ${program}: the installer is built on Debian, or on a system with Debian's ${program}`;
  const reason = /^E: (.*)$/m.exec(stderr)?.[1] ?? stderr.trim().split('\n').at(-1) ?? error.message;
  const hint = /Unable to locate|No packages found/.test(reason) ? '; apt-get update may help' : '';
  return `${program} ${args.join(' ')}: ${reason}${hint}`;
}
