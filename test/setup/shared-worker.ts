/**
 * Test files share a worker process, so that each worker imports the server once and not once a file. A file must leave
 * the process as it found it; one that does not fails here, instead of a later file failing for no visible reason.
 */
import { afterAll, expect, vi } from 'vitest';

const SIGNALS = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'uncaughtException',
  'unhandledRejection',
  'warning',
] as const;

const { setTimeout: realSetTimeout, clearTimeout: realClearTimeout } = globalThis;

function processState() {
  return {
    directory: process.cwd(),
    'exit code': process.exitCode,
    timers: areTimersReal() ? 'real' : 'replaced',
    environment: { ...process.env },
    ...Object.fromEntries(SIGNALS.map((name) => [`listeners of ${name}`, process.listenerCount(name)])),
  };
}

const areTimersReal = () =>
  !vi.isFakeTimers() &&
  globalThis.setTimeout === realSetTimeout &&
  globalThis.clearTimeout === realClearTimeout;

const before = processState();
const environment = process.env;

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.resetConfig();
  // vitest restores variables in the object that it has seen first.
  expect(process.env, 'this file does not replace process.env').toBe(environment);
  expect(processState(), 'this file leaves the process as it found it').toEqual(before);
});
