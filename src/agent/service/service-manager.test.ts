// @module-tag extended: agent/with-server.test.ts runs the agent.
/** Against a real datagram socket, in the file system and in the abstract namespace, which another program reads. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noPerl, receiveDatagrams } from '../../../test/agent/datagrams.ts';
import { connectServiceManager, NOTIFY_SENDERS, type NotifySender } from './service-manager.ts';

const isThere = (command: string): boolean => spawnSync(command, ['--version']).error === undefined;

let folder = '';
const cleanups: Array<() => void> = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-notify-'));
});
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
  rmSync(folder, { recursive: true });
});

async function listen(socket: string): Promise<() => string[]> {
  const { received, stop } = await receiveDatagrams(socket);
  cleanups.push(stop);
  return received;
}

function connect(
  socket: string,
  more: {
    readonly env?: Readonly<Record<string, string>>;
    readonly senders?: readonly NotifySender[];
    readonly isAlive?: () => boolean;
  } = {},
) {
  const events: string[] = [];
  const manager = connectServiceManager({
    env: { NOTIFY_SOCKET: socket, PATH: process.env.PATH, ...more.env },
    pid: 4711,
    pulse: { expect: () => {}, isAlive: more.isAlive ?? (() => true) },
    log: (_level, event, fields) => events.push(`${event} ${fields?.reason ?? ''}`),
    ...(more.senders && { senders: more.senders }),
  });
  cleanups.push(() => manager.close());
  return { manager, events };
}

const eventually = (messages: () => unknown) => expect.poll(messages, { timeout: 15_000, interval: 20 });

describe.skipIf(noPerl)('the service manager', () => {
  describe.each(NOTIFY_SENDERS)('notified with $command', (sender) => {
    describe.skipIf(!isThere(sender.command))('', () => {
      it.each(['file', 'abstract'])('over a socket in the %s namespace', async (kind) => {
        const socket =
          kind === 'file' ? join(folder, 'notify') : `@ingot-test-${process.pid}-${sender.command}`;
        const messages = await listen(socket);
        const { manager, events } = connect(socket, { senders: [sender] });
        manager.ready('registered');
        manager.status('ready');
        manager.status('ready');
        await manager.stopping('stopped');
        await eventually(messages).toEqual([
          'READY=1|STATUS=registered',
          'STATUS=ready',
          'STOPPING=1|STATUS=stopped',
        ]);
        expect(events).toEqual([]);
      });
    });
  });

  it('is fed twice in the watchdog’s time while the loop is alive, and not when it is stuck', async () => {
    const socket = join(folder, 'notify');
    const messages = await listen(socket);
    let alive = true;
    const env = { WATCHDOG_USEC: '400000', WATCHDOG_PID: '4711' };
    const { events } = connect(socket, { env, isAlive: () => alive });
    await eventually(() => messages().filter((text) => text === 'WATCHDOG=1').length >= 2).toBe(true);
    alive = false;
    await expect.poll(() => events, { timeout: 10_000 }).toEqual(['stuck ']);
    const before = messages().length;
    await sleep(1_000);
    // One may have been on its way.
    expect(messages().length - before).toBeLessThanOrEqual(1);
  });

  it('is not fed by another process than the one that it watches', async () => {
    const socket = join(folder, 'notify');
    const messages = await listen(socket);
    connect(socket, { env: { WATCHDOG_USEC: '100000', WATCHDOG_PID: '1' } });
    await sleep(500);
    expect(messages()).toEqual([]);
  });

  it('that can’t be reached is logged once, and blocks nothing', async () => {
    const { manager, events } = connect(join(folder, 'absent'));
    manager.ready('registered');
    await manager.stopping('stopped');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatch(/^service manager not notified \S+ ended with \d+/);
  });

  it('can’t be notified where nothing can send, and the log says what would', async () => {
    const senders = NOTIFY_SENDERS.map((sender) => ({ ...sender, command: `absent-${sender.command}` }));
    const { manager, events } = connect(join(folder, 'absent'), { senders });
    await manager.stopping('stopped');
    expect(events).toEqual([
      'service manager not notified none of these programs is installed: absent-systemd-notify, absent-python3, absent-perl',
    ]);
  });

  it('does nothing without NOTIFY_SOCKET', async () => {
    const { manager, events } = connect('');
    manager.ready('registered');
    await manager.stopping('stopped');
    expect(events).toEqual([]);
  });
});
