/** The seed for cloud-init, which only the boot that installs may read: user data may hold secrets. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../../../domain/error/fault.ts';
import { type SeedFile, seedFile } from '../../../domain/install/seed.ts';
import type { BootDependencies } from '../../../operations/nodes/boot/node-boot.ts';
import { knownProfile, profileNameOf } from '../../../operations/nodes/install-plan.ts';
import { findNode } from '../../../store/nodes/nodes.ts';
import { SEED_ROUTES } from '../api/netboot-api.ts';
import type { RestDependencies } from '../rest-errors.ts';
import type { SecretReads } from '../secret-reads.ts';
import { serveRoutes } from '../serve-routes.ts';
import { bootOf } from './boot-caller.ts';

interface SeedRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
  readonly reads: SecretReads;
  readonly baseUrlOf: (request: FastifyRequest) => string;
}

export function seedRoutes(app: FastifyInstance, dependencies: SeedRouteDependencies): void {
  const send =
    (file: SeedFile) =>
    async ({ request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply }) => {
      const text = await seedOf(dependencies, request, file);
      reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
      if (text === null) return reply.code(404).send('this installation has no such file\n');
      return reply.send(text);
    };
  serveRoutes(app, SEED_ROUTES, dependencies, {
    'user-data': send('user-data'),
    'meta-data': send('meta-data'),
    'network-config': send('network-config'),
  });
}

async function seedOf(
  { nodes, reads, baseUrlOf }: SeedRouteDependencies,
  request: FastifyRequest,
  file: SeedFile,
): Promise<string | null> {
  const boot = await bootOf(nodes.database, request);
  const node = boot && (await findNode(nodes.database, boot.machineId));
  if (!boot || !node) {
    throw new Fault('INVALID_BOOT_TOKEN', {
      message: 'only the boot that installs may read this, with its token and until it has reported its end',
    });
  }
  const profile = await knownProfile(nodes, nodes.database, profileNameOf(node));
  if (!profile || profile.userData === '') return null;
  const metadata = { file };
  await reads.byBoot(request, boot, { kind: 'workflow', subject: profile.name, to: 'seed_read', metadata });
  return seedFile(file, {
    userData: profile.userData,
    networkConfig: profile.networkConfig,
    bootNo: boot.bootNo,
    values: {
      machine_id: node.machineId,
      hostname: node.facts.hostname || node.machineId,
      mac: node.macAddress,
      server_url: baseUrlOf(request),
    },
  });
}
