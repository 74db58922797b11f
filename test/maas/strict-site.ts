/** A server with a MAAS that has owners, locks, places and settings, as its source says. */
import { afterAll, beforeAll, vi } from 'vitest';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import type { TestServer } from '../parts/server.ts';
import { type MaasSite, machineInService, openMaasSite, startMaasServer } from './fleet.ts';

export const TIME_LIMIT = 120_000;

export let site: MaasSite;

export let server: TestServer;

export const inService = () => machineInService(server, { commissioned: site });

export const messageOf = (operation: Operation, stage: string) =>
  operation.steps.find(({ name }) => name === stage)?.message ?? '';

export const opsOn = async (systemId: string) =>
  (await site.simulator.admin.requests())
    .filter(({ method, path }) => method !== 'GET' && path.includes(systemId))
    .map(({ op, method }) => op || method);

export const logOf = async (operationId: string) =>
  (
    await server.sql<{ line: string }>(
      `SELECT row_to_json(l)::text AS line FROM operation_logs l WHERE operation_id = $1`,
      [operationId],
    )
  )
    .map(({ line }) => line)
    .join('\n');

export function setUpStrictSite(): void {
  // They wait for MAAS more than they work.
  vi.setConfig({ maxConcurrency: 16 });
  beforeAll(async () => {
    site = await openMaasSite({ waits: { power_off_seconds: 2 } });
    const { placement, commissioning, kernel } = maasConfiguration.parse({
      ...site.configuration,
      placement: { pool: 'gpu', zone: 'rack-1', tags: ['ingot', 'new-tag'] },
      commissioning: { skip_bmc_config: true, testing_scripts: ['smartctl-validate'] },
      kernel: { minimum: 'ga-24.04' },
    });
    server = await startMaasServer(site, {
      providers: {
        ...site.providers,
        'by-hand': maasConfiguration.parse({ ...site.configuration, power: { type: 'manual' } }),
        placed: { ...maasConfiguration.parse(site.configuration), placement, commissioning, kernel },
      },
    });
    await site.simulator.admin.changeSite({
      zones: ['default', 'rack-1'],
      pools: ['default', 'gpu', 'lab'],
      domains: ['maas', 'gpu.example.com'],
      tags: ['ingot'],
    });
  }, TIME_LIMIT);
  afterAll(async () => {
    await server?.stop();
    await site?.stop();
  });
}
