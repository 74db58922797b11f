/** Install profiles, which this API calls workflows: configured, stored or built in. */
import type { FastifyInstance } from 'fastify';
import { type Caller, mayCall } from '../../domain/access/caller.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import { BUILT_IN_PROFILE, type InstallProfile } from '../../domain/install/install-profile.ts';
import { knownProfile } from '../../operations/nodes/install-plan.ts';
import { installProfileBody, readInstallProfile } from '../../operations/nodes/install-profile-input.ts';
import type { BootDependencies } from '../../operations/nodes/node-boot.ts';
import { listInstallProfiles, removeInstallProfile, storeInstallProfile } from '../../store/nodes/images.ts';
import { routeName } from '../access/known-methods.ts';
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
      const all = new Map<string, InstallProfile>([[BUILT_IN_PROFILE.name, BUILT_IN_PROFILE]]);
      for (const profile of await listInstallProfiles(database)) all.set(profile.name, profile);
      for (const profile of nodes.profiles.values()) all.set(profile.name, profile);
      const data = [...all.values()].map((profile) => installProfileBody(profile, userDataFor(caller)));
      return { success: true, data, total: all.size };
    },
    get: async ({ params: { name }, caller }) => {
      const profile = await knownProfile(nodes, database, name);
      if (!profile) throw workflowNotFound(name);
      return { success: true, data: installProfileBody(profile, userDataFor(caller)) };
    },
    store: async ({ request, reply, caller }) => {
      const profile = readInstallProfile(request.body);
      checkImageAddress(nodes, profile);
      const { name } = profile;
      if (nodes.profiles.has(name)) throw workflowConfigured(name);
      await storeInstallProfile(database, profile, caller.actor);
      const data = installProfileBody(profile, userDataFor(caller));
      return reply.code(201).send({ success: true, data, message: `Workflow ${name} stored` });
    },
    remove: async ({ params: { name }, caller }) => {
      if (!(await removeInstallProfile(database, name, caller.actor))) throw workflowNotFound(name);
      return { success: true, message: `Workflow ${name} removed` };
    },
  });
}

/** What only those who may store workflows see. */
function userDataFor(caller: Caller): 'shown' | 'hidden' {
  return mayCall(caller, routeName(WORKFLOW_ROUTES.store), 'admin') ? 'shown' : 'hidden';
}

/** Machines fetch the image; where they may fetch it from, the configuration says. */
function checkImageAddress({ imageHostProblem }: BootDependencies, { image }: InstallProfile): void {
  if (image === null || !('url' in image)) return;
  const problem = imageHostProblem(new URL(image.url).hostname);
  if (problem !== null) throw invalidField('image.url', problem);
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
