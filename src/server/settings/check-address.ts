/** Checks that the server can listen on an address, before anything is started. */
import { type AddressInfo, createServer } from 'node:net';
import { type Address, SettingError } from './settings.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EADDRNOTAVAIL: 'is not an address of this machine',
  EACCES: 'may not be used by this user',
  ENOTFOUND: 'is not a known host',
};

/** Returns the port; for port 0, one that is free. */
export async function checkAddress({ host, port }: Address, setting: string): Promise<number> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen({ host, port }, resolve);
    });
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new SettingError(setting, `${host}:${port} ${PROBLEMS[code] ?? `can't be listened on (${code})`}`);
  }
  const bound = (probe.address() as AddressInfo).port;
  await new Promise((resolve) => probe.close(resolve));
  return bound;
}
