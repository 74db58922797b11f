/**
 * A password of a Vault that is replaced: the secret has the old one as `password` and the new one as `pending_password`, until one write puts
 * it in the place of the old one. Each write names the version that it was made from, so that nothing of another writer is lost.
 */
import type { Machine } from '../../domain/machine/machine.ts';
import { CredentialProblem } from '../credential-reference.ts';
import type { KeptSecret, RotatingSecret } from '../rotating-secret.ts';
import type { VaultClient } from './vault-client.ts';

const PENDING = 'pending_password';

type Fields = Readonly<Record<string, unknown>>;

export interface RotatingVaultOptions {
  readonly client: VaultClient;
  readonly sharing: RotatingSecret['sharing'];
  readonly pathOf: (machine: Machine) => string;
  readonly parse: (name: string, fields: Fields) => KeptSecret;
}

export function rotatingVaultSecret(options: RotatingVaultOptions): RotatingSecret {
  const { client, sharing, pathOf, parse } = options;
  const rewrite = async (machine: Machine, change: (fields: Fields) => Fields | null) => {
    const path = pathOf(machine);
    const { fields, version } = await client.readNewest(path);
    const changed = change(fields);
    if (changed !== null) await client.write(path, changed, version);
  };
  return {
    sharing,
    async pending(machine) {
      const path = pathOf(machine);
      const { fields } = await client.readNewest(path);
      const { [PENDING]: waiting, ...rest } = fields;
      if (waiting === undefined || waiting === null) return null;
      return parse(path, { ...rest, password: waiting });
    },
    prepare: (machine, password) =>
      rewrite(machine, (fields) => {
        if (typeof fields.password !== 'string')
          throw new CredentialProblem(`${pathOf(machine)} has no password`);
        return typeof fields[PENDING] === 'string' ? null : { ...fields, [PENDING]: password };
      }),
    promote: (machine) =>
      rewrite(machine, ({ [PENDING]: waiting, ...rest }) =>
        typeof waiting === 'string' ? { ...rest, password: waiting } : null,
      ),
    drop: (machine) =>
      rewrite(machine, ({ [PENDING]: waiting, ...rest }) => (waiting === undefined ? null : rest)),
  };
}
