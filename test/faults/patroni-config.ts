/** The configuration of one member of the Patroni cluster. */
import { join } from 'node:path';

const BIN_DIR = '/usr/lib/postgresql/15/bin';
export const PASSWORD = 'failover';

export interface MemberPlace {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly restPort: number;
}

/** JSON is YAML. */
export function configOf({ name, folder, port, restPort }: MemberPlace, etcdPort: number): unknown {
  const user = (username: string) => ({ username, password: PASSWORD });
  return {
    scope: 'ingot',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: 15,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        maximum_lag_on_failover: 1_048_576,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, wal_keep_size: '512MB', shared_buffers: '64MB', jit: 'off' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
      pg_hba: [
        'local all all trust',
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication all 127.0.0.1/32 scram-sha-256',
      ],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(folder, 'data'),
      bin_dir: BIN_DIR,
      pgpass: join(folder, 'pgpass'),
      authentication: {
        superuser: user('postgres'),
        replication: user('replicator'),
        rewind: user('rewinder'),
      },
      parameters: { unix_socket_directories: folder },
    },
  };
}
