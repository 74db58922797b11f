/** Workflows: recipes of installations, from the configuration or stored here. */
import type { FastifyInstance } from 'fastify';
import { Fault } from '../../domain/error/fault.ts';
import { BUILT_IN_WORKFLOW, type Workflow } from '../../domain/install/install-profile.ts';
import { knownWorkflow } from '../../operations/nodes/install-plan.ts';
import { readWorkflow, workflowText } from '../../operations/nodes/install-profile-input.ts';
import type { BootDependencies } from '../../operations/nodes/node-boot.ts';
import { listWorkflows, removeWorkflow, storeWorkflow } from '../../store/nodes/images.ts';
import { callerWith, type RestDependencies } from './rest-errors.ts';

interface WorkflowRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
}

interface ByName {
  readonly Params: { readonly name: string };
}

/** User data and network configuration, each with as much as their escapes in JSON may take. */
const MAX_BODY_BYTES = 1024 * 1024;

export function workflowRoutes(app: FastifyInstance, parts: WorkflowRouteDependencies): void {
  const { nodes } = parts;
  const { database } = nodes;

  app.get('/api/v1/workflows', async (request, reply) => {
    const { role } = await callerWith(parts, request, 'viewer');
    const all = new Map<string, Workflow>([[BUILT_IN_WORKFLOW.name, BUILT_IN_WORKFLOW]]);
    for (const workflow of await listWorkflows(database)) all.set(workflow.name, workflow);
    for (const workflow of nodes.workflows.values()) all.set(workflow.name, workflow);
    return reply.send({
      success: true,
      data: [...all.values()].map((workflow) => workflowText(workflow, role)),
      total: all.size,
    });
  });

  app.get<ByName>('/api/v1/workflows/:name', async (request, reply) => {
    const { role } = await callerWith(parts, request, 'viewer');
    const workflow = await knownWorkflow(nodes, database, request.params.name);
    if (!workflow) throw workflowNotFound(request.params.name);
    return reply.send({ success: true, data: workflowText(workflow, role) });
  });

  app.post('/api/v1/workflows', { bodyLimit: MAX_BODY_BYTES }, async (request, reply) => {
    const { actor, role } = await callerWith(parts, request, 'admin');
    const workflow = readWorkflow(request.body);
    if (nodes.workflows.has(workflow.name)) {
      throw new Fault('WORKFLOW_CONFIGURED', {
        message: `workflow ${workflow.name} is in the configuration file: change it there`,
        metadata: { workflow: workflow.name },
      });
    }
    await storeWorkflow(database, workflow, actor);
    return reply.code(201).send({
      success: true,
      data: workflowText(workflow, role),
      message: `Workflow ${workflow.name} stored`,
    });
  });

  app.delete<ByName>('/api/v1/workflows/:name', async (request, reply) => {
    await callerWith(parts, request, 'admin');
    if (!(await removeWorkflow(database, request.params.name))) throw workflowNotFound(request.params.name);
    return reply.send({ success: true, message: `Workflow ${request.params.name} removed` });
  });
}

function workflowNotFound(name: string): Fault {
  return new Fault('WORKFLOW_NOT_FOUND', {
    message: `there is no stored workflow ${JSON.stringify(name.slice(0, 80))}`,
  });
}
