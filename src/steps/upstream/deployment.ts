/**
 * One deployment through an upstream, for every step that needs one: an onboarding, or an image for a machine that is in
 * use already. It carries the site's cloud-config, a fresh token for the machine's agent and, where commands are run on the
 * deployed system, a new host key. Both are made when they are used; of the key the public half is kept, of the token a hash.
 */
import type { StepContext } from '../../engine/step-handler.ts';
import { type HostKey, newHostKey } from '../../hosts/host-key.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { UpstreamDeployment, UpstreamMachine } from '../../providers/upstream.ts';
import { creating } from '../stages/stage-memo.ts';
import { type Acted, done, needsHuman, type Seen, started } from '../stages/stage-result.ts';
import { callOf } from '../step-kind.ts';
import { bringsHostKeys, renderCloudInit } from './cloud-init.ts';
import { type UpstreamEnvironment, upstreamIdOf } from './upstream-environment.ts';

/** How often a machine that did not find its datasource is deployed again. */
export const MAX_DATASOURCE_RETRIES = 2;

export interface WantedDeployment extends Pick<UpstreamDeployment, 'image'> {
  /** The upstream's id of the machine. */
  readonly id: string;
  /** The pool of its agent; empty: it has none, and gets no token. */
  readonly pool: string;
}

/** What the site deploys where no image is named. */
export function siteDeployment(environment: UpstreamEnvironment, pool: string): WantedDeployment {
  return { id: upstreamIdOf(environment), pool, image: null };
}

/** With everything but the token. */
export function renderWithoutToken(environment: UpstreamEnvironment, pool: string): string {
  return renderFor(environment, { pool, token: '{token}', hostKey: null });
}

export async function deployMachine(
  environment: UpstreamEnvironment,
  context: StepContext,
  { id, pool, image }: WantedDeployment,
): Promise<Acted> {
  const { machine, capabilities, controlPlane } = environment;
  const call = callOf(context, machine);
  await creating(context, 'deployment', async () => {
    const token = pool === '' ? '' : (await controlPlane.nodeServices.issueAgentToken(call, pool)).token;
    const hostKey = wantsHostKey(environment) ? newHostKey() : null;
    // Before the deployment, so that a system that comes up with it can be verified.
    if (hostKey) await controlPlane.nodeServices.rememberHostKey(call, hostKey.publicKey);
    const userData = renderFor(environment, { pool, token, hostKey });
    await capabilities.upstream.deploy(call, id, { userData, image });
  });
  return started('deployment begins');
}

/** A deployment that failed has nothing on it that anyone uses. */
export async function releaseFailed(
  environment: UpstreamEnvironment,
  context: StepContext,
  comment: string,
): Promise<Acted> {
  const { machine, capabilities } = environment;
  const release = { disks: 'keep', comment } as const;
  await context.effect(() =>
    capabilities.upstream.release(callOf(context, machine), upstreamIdOf(environment), release),
  );
  return started('releasing the machine for another try');
}

/** Done: another try may help. */
export async function classifyFailure(
  { capabilities: { upstream } }: UpstreamEnvironment,
  call: ProviderCall,
  seen: UpstreamMachine,
): Promise<Seen> {
  const { cause, message } = await upstream.deploymentFailure(call, seen);
  if (cause === 'datasource') return done(message);
  return needsHuman('DEPLOYMENT_FAILED', `${upstream.product} says: ${message}`);
}

export function datasourceFailed({ capabilities: { upstream } }: UpstreamEnvironment): Seen {
  const message = `the datasource failed ${MAX_DATASOURCE_RETRIES + 1} times; cloud-init does not reach ${upstream.product}`;
  return needsHuman('DATASOURCE_FAILED', message);
}

function wantsHostKey({ capabilities }: UpstreamEnvironment): boolean {
  const { site } = capabilities.upstream;
  return site.ssh !== null && !bringsHostKeys(site.readUserDataTemplate() ?? '');
}

interface Rendered {
  readonly pool: string;
  readonly token: string;
  readonly hostKey: HostKey | null;
}

function renderFor(
  { machine, capabilities, controlPlane }: UpstreamEnvironment,
  { pool, token, hostKey }: Rendered,
): string {
  const { site } = capabilities.upstream;
  const agent = {
    server: controlPlane.nodeServices.serverUrl(),
    machineId: machine.machineId,
    pool,
    provider: machine.spec.provider,
    token,
  };
  return renderCloudInit(site.readUserDataTemplate() ?? '', {
    agent: pool === '' ? null : agent,
    ssh: site.ssh ? { authorizedKey: site.ssh.authorizedKey(), hostKey } : null,
  });
}
