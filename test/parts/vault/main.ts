/**
 * The simulated Vault as a program: `npm run vault-sim -- [--port 8200] [--role-id ingot] [--lease-seconds 3600]`.
 * The first line on stdout is JSON: url, root_token, role_id, secret_id. Each line on stdin is the name of a fault, or an empty line for
 * none; `?` prints the requests so far. Ends on a signal, or when its stdin is closed with --tied.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { VaultSimulator } from './simulator.ts';
import { isVaultFault, VAULT_FAULTS } from './vault-fault.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'role-id': { type: 'string', default: 'ingot' },
    'secret-id': { type: 'string' },
    'root-token': { type: 'string' },
    namespace: { type: 'string', default: '' },
    'lease-seconds': { type: 'string', default: '3600' },
    'max-lease-seconds': { type: 'string', default: '2764800' },
    tied: { type: 'boolean', default: false },
  },
});
const { 'secret-id': secretId, 'root-token': rootToken } = values;
const vault = await VaultSimulator.start({
  port: Number(values.port),
  roleId: values['role-id'],
  namespace: values.namespace,
  leaseSeconds: Number(values['lease-seconds']),
  maxLeaseSeconds: Number(values['max-lease-seconds']),
  ...(secretId === undefined ? {} : { secretId }),
  ...(rootToken === undefined ? {} : { rootToken }),
});
const { url, roleId } = vault;
console.log(JSON.stringify({ url, root_token: vault.rootToken, role_id: roleId, secret_id: vault.secretId }));

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const word = line.trim();
  if (word === '?') console.log(JSON.stringify(vault.requests));
  else if (word === '' || isVaultFault(word)) {
    vault.fault = word === '' ? null : word;
    console.log(JSON.stringify({ fault: vault.fault }));
  } else console.error(`no such fault; there are ${Object.keys(VAULT_FAULTS).join(', ')}`);
});

const end = () => void vault.stop().then(() => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
if (values.tied) lines.once('close', end);
