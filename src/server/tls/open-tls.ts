/** Reads the certificate before anything is started, so that a file that is missing or wrong is one line. */
import type { Logger } from 'pino';
import type { Transport } from '../settings/bind-addresses.ts';
import type { Configuration } from '../settings/configuration.ts';
import { SETTINGS, SettingError, type Settings } from '../settings/settings.ts';
import { readTlsPair, TlsProblem } from './read-tls-pair.ts';
import { tlsFilesOf } from './tls-configuration.ts';
import { type WatchedTls, watchTlsFiles } from './watch-tls-files.ts';

export interface TlsOptions {
  readonly settings: Settings;
  readonly configuration: Configuration;
}

export function checkTls({ settings, configuration }: TlsOptions): Transport {
  const files = tlsFilesOf(settings, configuration.tls);
  if (configuration.certificates.length > 0 && !files?.clientCaFile)
    throw new SettingError(
      SETTINGS.tlsClientCaFile.variable,
      'is missing: certificates are configured, and no authority of them (tls.client_ca_file in the configuration)',
    );
  if (files === null) return 'plaintext';
  named(() => readTlsPair(files));
  return 'tls';
}

/** Null: plaintext. */
export function openTls(options: TlsOptions & { readonly log: Logger }): WatchedTls | null {
  const files = tlsFilesOf(options.settings, options.configuration.tls);
  return files && named(() => watchTlsFiles(files, { log: options.log, now: Date.now }));
}

function named<T>(attempt: () => T): T {
  try {
    return attempt();
  } catch (error) {
    throw error instanceof TlsProblem ? new SettingError('tls', error.message) : error;
  }
}
