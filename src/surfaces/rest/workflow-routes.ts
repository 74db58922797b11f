/** Workflows: recipes of installations, from the configuration or stored here. */
import type { FastifyInstance } from 'fastify';
import { Fault } from '../../domain/error/fault.ts';
import { BUILT_IN_WORKFLOW, type Workflow } from '../../domain/install/install-profile.ts';
import { knownWorkflow } from '../../operations/nodes/install-plan.ts';
import { readWorkflow, workflowText } from '../../operations/nodes/install-profile-input.ts';
import type { BootDependencies } from '../../operations/nodes/node-boot.ts';
import { listWorkflows, removeWorkflow, storeWorkflow } from '../../store/nodes/images.ts';
import { WORKFLOW_ROUTES } from './api/netboot-api.ts';
import type { RestDependencies } from './rest-errors.ts';
import { serveRoutes } from './serve-routes.ts';

interface WorkflowRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
}

export function workflowRoutes(app: FastifyInstance, dependencies: WorkflowRouteDependencies): void {
  const { nodes } = dependencies;
  const { database } = nodes;
  serveRoutes(app, WORKFLOW_ROUTES, dependencies, {
    list: async ({ caller }) => {
      const all = new Map<string, Workflow>([[BUILT_IN_WORKFLOW.name, BUILT_IN_WORKFLOW]]);
      for (const workflow of await listWorkflows(database)) all.set(workflow.name, workflow);
      for (const workflow of nodes.workflows.values()) all.set(workflow.name, workflow);
      const data = [...all.values()].map((workflow) => workflowText(workflow, caller.role));
      return { success: true, data, total: all.size };
    },
    get: async ({ params: { name }, caller }) => {
      const workflow = await knownWorkflow(nodes, database, name);
      if (!workflow) throw workflowNotFound(name);
      return { success: true, data: workflowText(workflow, caller.role) };
    },
    store: async ({ request, reply, caller }) => {
      const workflow = readWorkflow(request.body);
      const { name } = workflow;
      if (nodes.workflows.has(name)) throw workflowConfigured(name);
      await storeWorkflow(database, workflow, caller.actor);
      const data = workflowText(workflow, caller.role);
      return reply.code(201).send({ success: true, data, message: `Workflow ${name} stored` });
    },
    remove: async ({ params: { name } }) => {
      if (!(await removeWorkflow(database, name))) throw workflowNotFound(name);
      return { success: true, message: `Workflow ${name} removed` };
    },
  });
}

function workflowConfigured(name: string): Fault {
  return new Fault('WORKFLOW_CONFIGURED', {
    message: `workflow ${name} is in the configuration file: change it there`,
    metadata: { workflow: name },
  });
}

function workflowNotFound(name: string): Fault {
  return new Fault('WORKFLOW_NOT_FOUND', {
    message: `there is no stored workflow ${JSON.stringify(name.slice(0, 80))}`,
  });
}
