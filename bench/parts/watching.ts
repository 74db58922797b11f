/** How late events are: for one watcher while the engine is saturated, and for very many while some machines reboot. */
import { residentMB } from '../processor-time.ts';
import type { Figure } from '../rig/figures.ts';
import { startWatchers } from '../rig/watcher-process.ts';
import { enterMaintenance, prepareReboots, reboot, register } from './operations.ts';
import type { Round } from './part.ts';

const REBOOTING = 100;
const STREAMS_ON_A_CONNECTION = 20;
export async function measureWatch(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number, cleanup } = round;
  const prefix = `watch-${number}`;
  await register(round, prefix, args.operations);
  const watchers = await startWatchers(
    { address: subject.server.grpcAddress, token: subject.server.token, watchers: 1, connections: 1 },
    cleanup,
  );
  const value = await enterMaintenance(round, prefix, args.operations);
  const { p50, p99 } = await watchers.untilQuiet();
  await watchers.stop();
  return [
    { what: 'one-step operations with a watcher of all of them', unit: 'perSecond', value },
    { what: 'event to a watcher under that load, p50', unit: 'ms', value: p50 },
    { what: 'event to a watcher under that load, p99', unit: 'ms', value: p99 },
  ];
}

export async function measureWatchers(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number, cleanup } = round;
  const { server } = subject;
  const prefix = `watched-${number}`;
  await prepareReboots(round, prefix, REBOOTING);
  const connections = Math.max(1, Math.ceil(args.watchers / STREAMS_ON_A_CONNECTION));
  const watchers = await startWatchers(
    { address: server.grpcAddress, token: server.token, watchers: args.watchers, connections },
    cleanup,
  );
  const { pid } = server;
  let most = 0;
  const sampling = setInterval(() => {
    most = Math.max(most, residentMB(pid));
  }, 50);
  try {
    await reboot(round, prefix, REBOOTING);
    const { p50, p99 } = await watchers.untilQuiet();
    const name = `${args.watchers.toLocaleString('en')} watchers while ${REBOOTING} machines reboot`;
    return [
      { what: `${name}, p50`, unit: 'ms', value: p50 },
      { what: `${name}, p99`, unit: 'ms', value: p99 },
      { what: `${name}, memory of the server at most`, unit: 'MB', value: most },
    ];
  } finally {
    clearInterval(sampling);
    await watchers.stop();
  }
}
