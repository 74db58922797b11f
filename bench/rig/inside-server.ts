/**
 * Loaded into a measured server before its own code (`node --import`), whatever commit it is of. Reports memory, handles and
 * the share of garbage collection, and takes CPU profiles, when the benchmark asks over the process's IPC channel.
 */
import cluster from 'node:cluster';
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { type EventLoopUtilization, PerformanceObserver, performance } from 'node:perf_hooks';

export type Inquiry =
  | { readonly bench: 'vitals' }
  | { readonly bench: 'start profile' }
  | { readonly bench: 'end profile'; readonly file: string };

export interface Vitals {
  /** In bytes. */
  readonly rss: number;
  readonly heapUsed: number;
  /** What keeps the event loop alive: sockets, timers, requests. */
  readonly handles: number;
  /** Of the time in which the event loop was busy since the last inquiry. */
  readonly garbageShare: number;
}

/** Often enough for the functions of an operation, which takes less than a millisecond. */
const SAMPLE_MICROS = 500;

let garbageMs = 0;
let since: EventLoopUtilization = performance.eventLoopUtilization();
let session: Session | null = null;

function vitals(): Vitals {
  const now = performance.eventLoopUtilization();
  const busyMs = performance.eventLoopUtilization(now, since).active;
  const garbageShare = busyMs > 0 ? garbageMs / busyMs : 0;
  since = now;
  garbageMs = 0;
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed, handles: process.getActiveResourcesInfo().length, garbageShare };
}

function post(method: string, params: object = {}): Promise<unknown> {
  return new Promise((resolve, reject) =>
    session?.post(method, params, (error, result) => (error ? reject(error) : resolve(result))),
  );
}

async function startProfile(): Promise<string> {
  session = new Session();
  session.connect();
  await post('Profiler.enable');
  await post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });
  await post('Profiler.start');
  return 'started';
}

async function endProfile(file: string): Promise<string> {
  const { profile } = (await post('Profiler.stop')) as { profile: object };
  writeFileSync(file, JSON.stringify(profile));
  session?.disconnect();
  session = null;
  return file;
}

async function answer(inquiry: Inquiry): Promise<Vitals | string> {
  switch (inquiry.bench) {
    case 'vitals':
      return vitals();
    case 'start profile':
      return startProfile();
    case 'end profile':
      return endProfile(inquiry.file);
  }
}

new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) garbageMs += entry.duration;
}).observe({ entryTypes: ['gc'] });

// Workers of a supervised server have a channel too, on which other messages come.
process.on('message', (message: Partial<Inquiry> | null) => {
  if (typeof message !== 'object' || message === null || message.bench === undefined) return;
  void answer(message as Inquiry).then((result) => process.send?.({ answer: result }));
});
// Listening must not keep a server alive that wants to end. A worker lives by its channel.
if (cluster.isPrimary) process.channel?.unref();
