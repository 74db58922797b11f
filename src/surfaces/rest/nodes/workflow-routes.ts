/** Install profiles, which this API calls workflows: configured, stored or built in. */
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { type Caller, mayCall } from '../../../domain/access/caller.ts';
import { Fault, invalidField } from '../../../domain/error/fault.ts';
import { BUILT_IN_PROFILE, type InstallProfile } from '../../../domain/install/install-profile.ts';
import type { BootDependencies } from '../../../operations/nodes/boot/node-boot.ts';
import { knownProfile } from '../../../operations/nodes/install-plan.ts';
import { installProfileBody, readInstallProfile } from '../../../operations/nodes/install-profile-input.ts';
import {
  findImage,
  listInstallProfiles,
  removeInstallProfile,
  type StoredProfile,
  storeInstallProfile,
} from '../../../store/nodes/images.ts';
import { routeName } from '../../access/known-methods.ts';
import { WORKFLOW_ROUTES } from '../api/netboot-api.ts';
import type { RestDependencies } from '../rest-errors.ts';
import { serveRoutes } from '../serve-routes.ts';

interface WorkflowRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
}

export function workflowRoutes(app: FastifyInstance, dependencies: WorkflowRouteDependencies): void {
  const { nodes } = dependencies;
  const { database } = nodes;
  serveRoutes(app, WORKFLOW_ROUTES, dependencies, {
    list: async ({ caller }) => {
      const all = new Map<string, StoredProfile>([[BUILT_IN_PROFILE.name, shared(BUILT_IN_PROFILE)]]);
      for (const stored of await listInstallProfiles(database, caller.scope))
        all.set(stored.profile.name, stored);
      for (const profile of nodes.profiles.values()) all.set(profile.name, shared(profile));
      const data = [...all.values()].map((stored) => bodyFor(caller, stored));
      return { success: true, data, total: all.size };
    },
    get: async ({ params: { name }, caller }) => {
      const isShared = nodes.profiles.has(name);
      const all = isShared ? [] : await listInstallProfiles(database, caller.scope);
      const profile = await knownProfile(nodes, database, name, caller.scope);
      const stored = all.find((each) => each.profile.name === name) ?? (profile && shared(profile));
      if (!stored) throw workflowNotFound(name);
      return { success: true, data: bodyFor(caller, stored) };
    },
    store: async ({ request, reply, caller }) => {
      const profile = readInstallProfile(request.body);
      checkImageAddress(nodes, profile);
      const { name } = profile;
      if (nodes.profiles.has(name)) throw workflowConfigured(name);
      await checkImage(nodes, profile, caller);
      await storeInstallProfile(database, profile, caller);
      const data = installProfileBody(profile, 'shown');
      return reply.code(201).send({ success: true, data, message: `Workflow ${name} stored` });
    },
    remove: async ({ params: { name }, caller }) => {
      if (!(await removeInstallProfile(database, name, caller))) throw workflowNotFound(name);
      return { success: true, message: `Workflow ${name} removed` };
    },
  });
}

function shared(profile: InstallProfile): StoredProfile {
  return { profile, scopeTerms: [] };
}

/** User data is for those who may store the workflow: it may hold secrets, also those of a shared workflow. */
function bodyFor(caller: Caller, { profile, scopeTerms }: StoredProfile) {
  const isOwn = caller.scope === null || isDeepStrictEqual(scopeTerms, caller.scope.terms);
  const maySee = isOwn && mayCall(caller, routeName(WORKFLOW_ROUTES.store), 'admin');
  return installProfileBody(profile, maySee ? 'shown' : 'hidden');
}

/** A workflow of a scope installs no image of another one. */
async function checkImage(
  { database }: BootDependencies,
  { image }: InstallProfile,
  { scope }: Caller,
): Promise<void> {
  if (scope === null || image === null || !('name' in image)) return;
  if (await findImage(database, image.name, scope)) return;
  throw invalidField('image.name', `there is no image ${JSON.stringify(image.name.slice(0, 80))}`);
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
