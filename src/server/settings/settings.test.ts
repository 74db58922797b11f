import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type FlagValues, readSettings, SETTINGS, SettingError, type Settings } from './settings.ts';

const CWD = '/srv/ingot';
const read = (env: NodeJS.ProcessEnv = {}, flags: FlagValues = {}) => readSettings(env, flags, CWD);

function problem(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(SettingError);
    return (error as Error).message;
  }
  throw new Error('was not refused');
}

const WRONG = {
  httpAddress: [
    '8080',
    'localhost',
    'host:',
    ':',
    'host:65536',
    'host:http',
    '::1:80',
    '[::1]',
    'a b:80',
    'http://host:80',
    'a\nb:80',
  ],
  grpcAddress: ['50051', 'host:999999', 'host:-1'],
  dataDir: ['a\0b'],
  databaseUrl: [
    'mysql://root:hunter2@db/ingot',
    'db.example/hunter2',
    'postgres:hunter2',
    'postgres://user:hunter2@db:port/x',
  ],
  configFile: ['a\0b'],
  logLevel: ['verbose', 'INFO', 'a\nb'],
  leaseMs: ['199', '600001', '1.5', '-1', 'ten', '1e4', ' 500', '1234567890'],
  maxInHand: ['0', '10001', 'many', 'a\nb'],
} as const satisfies Partial<Record<keyof Settings, readonly string[]>>;

const wrong = Object.entries(WRONG).flatMap(([key, values]) =>
  values.map((value) => [key as keyof typeof WRONG, value] as const),
);

it('DATABASE_URL may name several servers', () => {
  const url = 'postgres://user:pw@one:5432,two:5433/ingot?target_session_attrs=read-write';
  expect(read({ DATABASE_URL: url }).databaseUrl).toBe(url);
  const standby = problem(() => read({ DATABASE_URL: 'postgres://one,two/x?target_session_attrs=standby' }));
  expect(standby).toBe(
    'DATABASE_URL: has target_session_attrs="standby"; it may be any, read-write, primary',
  );
});

describe('a wrong setting', () => {
  it.each(wrong)('%s = %j is one line that names its variable', (key, value) => {
    const message = problem(() => read({ [SETTINGS[key].variable]: value }));
    expect(message.startsWith(`${SETTINGS[key].variable}: `)).toBe(true);
    expect(message).not.toMatch(/[\n\r\0]/);
  });

  it.each(wrong)('%s = %j is one line that names its flag, where that was given', (key, value) => {
    const message = problem(() => read({}, { [key]: value }));
    expect(message.startsWith(`${SETTINGS[key].flag}: `)).toBe(true);
    expect(message).not.toMatch(/[\n\r\0]/);
  });

  it.each(WRONG.databaseUrl)('DATABASE_URL is never repeated: it may hold a password (%s)', (value) => {
    const message = problem(() => read({ DATABASE_URL: value }));
    expect(message).toBe('DATABASE_URL: is not a postgresql:// URL');
  });

  it('says what would be right', () => {
    expect(problem(() => read({ INGOT_HTTP_ADDR: '8080' }))).toBe(
      'INGOT_HTTP_ADDR: "8080" is not host:port, such as 127.0.0.1:8080 or [::1]:8080',
    );
    expect(problem(() => read({}, { leaseMs: '1' }))).toBe(
      '--lease-ms: "1" is not a whole number from 200 to 600000',
    );
    expect(problem(() => read({ INGOT_LOG_LEVEL: 'loud' }))).toBe(
      'INGOT_LOG_LEVEL: "loud" is not one of trace, debug, info, warn, error, fatal, silent',
    );
  });

  it('is not passed over because a flag is empty', () => {
    expect(problem(() => read({}, { httpAddress: '' }))).toMatch(/^--http-addr: /);
    expect(problem(() => read({}, { dataDir: '' }))).toMatch(/^--data-dir: /);
  });
});

describe('settings', () => {
  it('have defaults', () => {
    expect(read()).toMatchObject({
      httpAddress: { host: '127.0.0.1', port: 8080 },
      grpcAddress: { host: '127.0.0.1', port: 50051 },
      dataDir: '/srv/ingot/.ingot',
      databaseUrl: null,
      configFile: null,
      logLevel: 'info',
      leaseMs: 10_000,
      maxInHand: 256,
    });
  });

  it('come from the environment', () => {
    const env = {
      INGOT_HTTP_ADDR: '0.0.0.0:80',
      INGOT_GRPC_ADDR: '[::1]:0',
      INGOT_DATA_DIR: 'var',
      DATABASE_URL: 'postgres://user:pw@/ingot?host=/run/postgresql',
      INGOT_CONFIG: '/etc/ingot.yaml',
      INGOT_LOG_LEVEL: 'silent',
      INGOT_LEASE_MS: '200',
      INGOT_MAX_IN_HAND: '10000',
    };
    expect(read(env)).toMatchObject({
      httpAddress: { host: '0.0.0.0', port: 80 },
      grpcAddress: { host: '::1', port: 0 },
      dataDir: '/srv/ingot/var',
      databaseUrl: env.DATABASE_URL,
      configFile: '/etc/ingot.yaml',
      logLevel: 'silent',
      leaseMs: 200,
      maxInHand: 10_000,
    });
  });

  it('take a number of workers, or auto for one for each core', () => {
    expect(read().workers).toBe(1);
    expect(read({ INGOT_WORKERS: '3' }).workers).toBe(3);
    expect(read({ INGOT_WORKERS: '3' }, { workers: 'auto' }).workers).toBe(availableParallelism());
    for (const wrong of ['0', '65', '-1', '1.5', 'all', 'AUTO']) {
      expect(problem(() => read({ INGOT_WORKERS: wrong }))).toBe(
        `INGOT_WORKERS: "${wrong}" is neither auto nor a whole number from 1 to 64`,
      );
    }
  });

  it('leave the host of an address open where none is given', () => {
    expect(read({ INGOT_HTTP_ADDR: ':8080' }).httpAddress).toEqual({ host: '', port: 8080 });
  });

  it('have a switch for plaintext, which is off', () => {
    expect(read().insecurePlaintext).toBe(false);
    expect(read({ INGOT_INSECURE_PLAINTEXT: 'true' }).insecurePlaintext).toBe(true);
    expect(read({ INGOT_INSECURE_PLAINTEXT: '1' }).insecurePlaintext).toBe(true);
    expect(read({ INGOT_INSECURE_PLAINTEXT: '1' }, { insecurePlaintext: 'false' }).insecurePlaintext).toBe(
      false,
    );
    expect(problem(() => read({ INGOT_INSECURE_PLAINTEXT: 'yes' }))).toBe(
      'INGOT_INSECURE_PLAINTEXT: "yes" is neither true nor false',
    );
  });

  it('take an empty variable for none', () => {
    const empty = Object.fromEntries(Object.values(SETTINGS).map(({ variable }) => [variable, '']));
    expect(read(empty)).toEqual(read());
  });

  it('from flags win over the environment, even over a wrong value there', () => {
    const env = { INGOT_HTTP_ADDR: 'nonsense', INGOT_LEASE_MS: '500', DATABASE_URL: 'postgres://db/x' };
    const settings = read(env, { httpAddress: 'localhost:1', leaseMs: '700', databaseUrl: '' });
    expect(settings).toMatchObject({
      httpAddress: { host: 'localhost', port: 1 },
      leaseMs: 700,
      databaseUrl: null,
    });
  });

  it('have distinct names', () => {
    const infos = Object.values(SETTINGS);
    expect(new Set(infos.flatMap(({ variable, flag }) => [variable, flag])).size).toBe(2 * infos.length);
    for (const { flag, description } of infos) {
      expect(flag).toMatch(/^--[a-z-]+$/);
      expect(description).not.toBe('');
    }
  });
});
