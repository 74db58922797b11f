/** A server with a MAAS, and the history of its machines. */
import { afterAll, beforeAll } from 'vitest';
import type { TestServer } from '../parts/server.ts';
import { type MaasSite, openMaasSite, startMaasServer } from './fleet.ts';

export const TIME_LIMIT = 120_000;

export let site: MaasSite;

export let server: TestServer;

/** Without its last digits: where the secret is a part of more, those differ. */
export const encoded = (secret: string, as: 'hex' | 'base64') => {
  const whole = Buffer.from(secret).subarray(0, 3 * Math.floor(secret.length / 3));
  return whole.toString(as);
};

export async function serviceHistory(machineId: string): Promise<string[]> {
  const rows = await server.sql<{ line: string }>(
    `SELECT from_state || '>' || to_state AS line FROM events WHERE machine_id = $1 AND kind = 'service'
     ORDER BY event_id`,
    [machineId],
  );
  return rows.map(({ line }) => line);
}

export function setUpOnboardingSite(): void {
  beforeAll(async () => {
    site = await openMaasSite();
    server = await startMaasServer(site);
  }, TIME_LIMIT);
  afterAll(async () => {
    await server?.stop();
    await site?.stop();
  });
}
