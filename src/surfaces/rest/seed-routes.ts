/** The seed for cloud-init, for the boot that installs and for no one else: user data may hold secrets. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Fault } from '../../domain/error/fault.ts';
import { SEED_FILES, type SeedFile, seedFile } from '../../domain/install/seed.ts';
import { knownWorkflow, workflowNameOf } from '../../operations/nodes/install-plan.ts';
import type { BootDependencies } from '../../operations/nodes/node-boot.ts';
import { findNode } from '../../store/nodes/nodes.ts';
import { bootOf } from './boot-caller.ts';

interface SeedRouteDependencies {
  readonly nodes: BootDependencies;
  readonly baseUrlOf: (request: FastifyRequest) => string;
}

export function seedRoutes(app: FastifyInstance, dependencies: SeedRouteDependencies): void {
  for (const file of SEED_FILES) {
    app.get(`/api/v1/boot/${file}`, async (request, reply) => {
      const text = await seedOf(dependencies, request, file);
      reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
      if (text === null) return reply.code(404).send('this installation has no such file\n');
      return reply.send(text);
    });
  }
}

async function seedOf(
  { nodes, baseUrlOf }: SeedRouteDependencies,
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
  const workflow = await knownWorkflow(nodes, nodes.database, workflowNameOf(node));
  if (!workflow || workflow.userData === '') return null;
  return seedFile(file, {
    userData: workflow.userData,
    networkConfig: workflow.networkConfig,
    bootNo: boot.bootNo,
    values: {
      machine_id: node.machineId,
      hostname: node.facts.hostname || node.machineId,
      mac: node.macAddress,
      server_url: baseUrlOf(request),
    },
  });
}
