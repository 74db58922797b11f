/** The serial console of a simulated BMC over SSH: a shell that is the console, or that leads there by a command. */
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type ssh2 from 'ssh2';
import type { ServerChannel } from 'ssh2';
import { newHostKey } from '../../../src/hosts/host-key.ts';

const { Server } = createRequire(import.meta.url)('ssh2') as typeof ssh2;

export interface SshConsoleOptions {
  readonly user: string;
  readonly password: string;
}

export class SshConsole {
  readonly publicKey: string;
  /** How many logins were refused. */
  refused = 0;
  readonly #server: ssh2.Server;
  readonly #channels = new Set<ServerChannel>();
  readonly #clients = new Set<ssh2.Connection>();
  #typed = '';

  private constructor({ user, password }: SshConsoleOptions) {
    const { privateKey, publicKey } = newHostKey();
    this.publicKey = publicKey;
    this.#server = new Server({ hostKeys: [privateKey] }, (client) => {
      this.#clients.add(client);
      client.on('error', () => {});
      client.on('close', () => this.#clients.delete(client));
      client.on('authentication', (login) => {
        if (login.method === 'password' && login.username === user && login.password === password)
          return login.accept();
        if (login.method === 'password') this.refused += 1;
        login.reject(['password']);
      });
      client.on('session', (accept) => {
        const session = accept();
        session.on('pty', (acceptPty) => acceptPty?.());
        session.on('shell', (acceptShell) => this.#open(acceptShell()));
      });
    });
  }

  static async start(options: SshConsoleOptions): Promise<SshConsole> {
    const console = new SshConsole(options);
    await new Promise<void>((resolve) => console.#server.listen(0, '127.0.0.1', resolve));
    return console;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get typed(): string {
    return this.#typed;
  }

  /** As the machine does. */
  write(text: string): void {
    for (const channel of this.#channels) channel.write(text);
  }

  /** As a BMC that restarts. */
  drop(): void {
    for (const client of this.#clients) client.end();
  }

  async stop(): Promise<void> {
    this.drop();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #open(channel: ServerChannel): void {
    this.#channels.add(channel);
    channel.on('close', () => this.#channels.delete(channel));
    channel.on('data', (bytes: Buffer) => {
      this.#typed += bytes.toString('latin1');
    });
    channel.write('machine login: ');
  }
}
