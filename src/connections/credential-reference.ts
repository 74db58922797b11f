/** Credentials are never written into the configuration: it names the file or the environment variable that has them. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export const filePath = z
  .string()
  .min(1)
  .refine((path) => !path.includes('\0'), 'must be a path');
export const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable');

export interface CredentialReference {
  readonly file?: string | undefined;
  readonly env?: string | undefined;
}

/** Says what is wrong with a reference; never what is in the file or the variable. */
export class CredentialProblem extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'CredentialProblem';
  }
}

/** Read again for every use, so that a rotated credential is used at once. */
export function readCredential({ file, env }: CredentialReference): string {
  if (file !== undefined) return readReferredFile(file);
  const value = process.env[env ?? ''];
  if (value === undefined || value === '') {
    throw new CredentialProblem(`the environment variable ${env} is not set`);
  }
  return value;
}

export function readReferredFile(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CredentialProblem(
      `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
  if (text.trim() === '') throw new CredentialProblem(`${file} is empty`);
  return text;
}

interface IssueSink {
  addIssue(issue: { code: 'custom'; path: string[]; message: string }): void;
}

/** Tries a part of the configuration while it is parsed, so that a wrong one stops the server's start and is named by its path. */
export function tryCredential(sink: IssueSink, path: string, attempt: () => void): void {
  try {
    attempt();
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    sink.addIssue({ code: 'custom', path: path === '' ? [] : path.split('.'), message: error.message });
  }
}
