/** The files of the server's certificate: from the configuration file, or from settings, which win. */
import { z } from 'zod';
import { filePath } from '../../connections/credential-reference.ts';
import { SETTINGS, SettingError, type Settings } from '../settings/settings.ts';

export const tlsConfiguration = z
  .strictObject({
    cert_file: filePath,
    key_file: filePath,
    /** Authorities of client certificates. */
    client_ca_file: filePath.optional(),
  })
  .nullable()
  .default(null);

export type TlsConfiguration = z.output<typeof tlsConfiguration>;

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string | null;
}

/** Null: the server has no certificate. */
export function tlsFilesOf(
  settings: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile' | 'tlsClientCaFile'>,
  configured: TlsConfiguration,
): TlsFiles | null {
  const certFile = settings.tlsCertFile ?? configured?.cert_file ?? null;
  const keyFile = settings.tlsKeyFile ?? configured?.key_file ?? null;
  const clientCaFile = settings.tlsClientCaFile ?? configured?.client_ca_file ?? null;
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile } = SETTINGS;
  if (certFile !== null && keyFile !== null) return { certFile, keyFile, clientCaFile };
  if (certFile !== null)
    throw new SettingError(
      tlsKeyFile.variable,
      'is missing: the key of the certificate (tls.key_file in the configuration)',
    );
  if (keyFile !== null)
    throw new SettingError(
      tlsCertFile.variable,
      'is missing: the certificate of the key (tls.cert_file in the configuration)',
    );
  if (clientCaFile !== null)
    throw new SettingError(
      tlsClientCaFile.variable,
      `needs a certificate of the server: set ${tlsCertFile.variable} and ${tlsKeyFile.variable} too`,
    );
  return null;
}
