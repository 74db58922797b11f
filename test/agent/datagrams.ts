/** A datagram socket as a service manager has one, read by a program that can: Node.js can't. */
import { spawn, spawnSync } from 'node:child_process';
import { expect } from 'vitest';

export const noPerl = spawnSync('perl', ['--version']).error !== undefined;

export interface Datagrams {
  /** Each message on one line, with | in place of its line ends. */
  readonly received: () => string[];
  readonly stop: () => void;
}

const RECEIVER = `use Socket; $| = 1; (my $name = $ARGV[0]) =~ s/^@/\\0/;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, sockaddr_un($name)) or die $!; print "bound\\n";
while (defined recv($s, my $text, 4096, 0)) { $text =~ s/\\n/|/g; print "$text\\n" }`;

/** What begins with @ is in the abstract namespace. */
export async function receiveDatagrams(socket: string): Promise<Datagrams> {
  const receiver = spawn('perl', ['-e', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  receiver.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await expect.poll(() => text, { timeout: 10_000 }).toContain('bound');
  return {
    // With its messages systemd-notify sends one that asks for nothing but to be read.
    received: () => text.split('\n').filter((line) => !['', 'bound', 'BARRIER=1'].includes(line)),
    stop: () => void receiver.kill('SIGKILL'),
  };
}
