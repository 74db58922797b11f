/** Asks the API for everything once more when the storm is over, and sends every accepted request again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { Api } from '../../src/cli/connection/api.ts';
import { CallError } from '../../src/cli/connection/call-error.ts';
import { pagesOf } from '../../src/cli/connection/pages.ts';
import type { ApiFacts } from './evidence.ts';
import { STARTS, type StartRecord } from './workload.ts';

const AT_A_TIME = 32;
const ATTEMPTS = 10;

export async function readApiFacts(api: Api, starts: readonly StartRecord[]): Promise<ApiFacts> {
  const statuses = new Map<string, string>();
  const operationPages = pagesOf(async (page) => {
    const { operations, nextPageToken } = await patiently(() => api.operations.listOperations(page));
    return { items: operations, nextPageToken };
  }, undefined);
  for await (const page of operationPages)
    for (const { operationId, status } of page) statuses.set(operationId, status);

  const activeOperations = new Map<string, string>();
  const machinePages = pagesOf(async (page) => {
    const { machines, nextPageToken } = await patiently(() => api.machines.listMachines(page));
    return { items: machines, nextPageToken };
  }, undefined);
  for await (const page of machinePages) {
    for (const { machineId, status } of page)
      activeOperations.set(machineId, status?.activeOperationId ?? '');
  }
  return { statuses, activeOperations, replays: await replay(api, starts) };
}

async function replay(api: Api, starts: readonly StartRecord[]): Promise<Map<string, string>> {
  const replays = new Map<string, string>();
  const accepted = starts.filter(({ operationId }) => operationId !== null).values();
  const worker = async () => {
    for (const { type, machineId, requestId } of accepted) {
      const answer = await patiently(() =>
        STARTS[type](api, { machineId, requestId }, AbortSignal.timeout(30_000)),
      );
      replays.set(`${machineId}/${requestId}`, answer.operationId);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return replays;
}

/** As the API requires: a call that is UNAVAILABLE is repeated. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const passes = error instanceof CallError && error.code === status.UNAVAILABLE;
      if (!passes || attempt === ATTEMPTS) throw error;
      await sleep(100 * attempt);
    }
  }
}
