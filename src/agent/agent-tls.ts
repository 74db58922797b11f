/**
 * How the agent verifies the server and identifies itself. The files are read again when they change, because certificates
 * of machines live for days or hours. The server's certificate is always verified.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { AgentSettingError, findSetting, type SettingSources } from './agent-settings.ts';

export interface AgentTls {
  /** Whether the agent has a certificate, which may take the place of a token. */
  readonly hasCertificate: boolean;
  /** The same object while the files are the same. Files that are incomplete change nothing. */
  options(): SecureContextOptions;
}

interface TlsFile {
  readonly path: string;
  readonly from: string;
}

type Names = 'ca' | 'cert' | 'key';
type Contents = Partial<Record<Names, Buffer>>;

export function openAgentTls(sources: SettingSources): AgentTls {
  const place = (name: 'caFile' | 'certFile' | 'keyFile'): TlsFile | undefined => {
    const found = findSetting(sources, name);
    return found && { path: resolve(sources.cwd, found.text), from: found.from };
  };
  const [ca, cert, key] = [place('caFile'), place('certFile'), place('keyFile')];
  if ((cert === undefined) !== (key === undefined))
    throw new AgentSettingError('--cert-file and --key-file', 'only one of them is given');
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  let contents = checked(files);
  let options = toOptions(contents);
  return {
    hasCertificate: cert !== undefined,
    options: () => {
      const found = readAgain(files);
      if (found && !isSame(found, contents)) {
        contents = found;
        options = toOptions(found);
      }
      return options;
    },
  };
}

function checked(files: Partial<Record<Names, TlsFile>>): Contents {
  const contents: Contents = {};
  for (const [name, { path, from }] of Object.entries(files)) {
    try {
      contents[name as Names] = readFileSync(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new AgentSettingError(from, `can't read ${JSON.stringify(path)} (${code ?? 'unknown error'})`);
    }
  }
  const { ca, ...pair } = contents;
  if (ca && !isUsable({ ca }))
    throw new AgentSettingError(files.ca?.from ?? '', 'has no certificate in PEM form');
  if (!isUsable(pair))
    throw new AgentSettingError(
      files.cert?.from ?? '',
      'it and the key are not a certificate and its key in PEM form',
    );
  return contents;
}

/** Null: a file is missing or incomplete, as while it is replaced. */
function readAgain(files: Partial<Record<Names, TlsFile>>): Contents | null {
  try {
    return checked(files);
  } catch (error) {
    if (!(error instanceof AgentSettingError)) throw error;
    return null;
  }
}

function isUsable(contents: Contents): boolean {
  try {
    createSecureContext(contents);
    return true;
  } catch {
    return false;
  }
}

function isSame(one: Contents, other: Contents): boolean {
  return (['ca', 'cert', 'key'] as const).every((name) => {
    const [left, right] = [one[name], other[name]];
    return left && right ? left.equals(right) : left === right;
  });
}

function toOptions(contents: Contents): SecureContextOptions {
  return { minVersion: 'TLSv1.2', ...contents };
}
