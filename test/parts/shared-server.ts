import { startTestServer, type TestServer } from './server.ts';

let started: Promise<TestServer> | null = null;

/**
 * One server for all files of a worker that need none of their own. It ends with the worker: no file stops it, and none
 * counts what is stored or changes what is not its own.
 */
export function sharedServer(): Promise<TestServer> {
  started ??= startTestServer();
  return started;
}
