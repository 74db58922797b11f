/**
 * One deployment through MAAS, whoever wants it: an onboarding, or an image for a machine that is in use already. It
 * carries the site's cloud-config, a fresh token for the machine's agent and, where commands are run on what is deployed, a new
 * host key. Both are made when they are used; of the key the public half is kept, of the token a hash.
 */
import type { StepContext } from '../../engine/step-handler.ts';
import { type HostKey, newHostKey } from '../../hosts/host-key.ts';
import { isDatasourceFailure } from '../../providers/maas/deploy-failure.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import { imageText } from '../../providers/maas/maas-images.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import { type Acted, done, making, needsHuman, type Seen, started } from '../stages/stage-handling.ts';
import { callOf } from '../step-kind.ts';
import { bringsHostKeys, renderCloudInit } from './cloud-init.ts';
import { idOf, type MaasStepEnvironment } from './upstream-environment.ts';

/** How often a machine that did not find its datasource is deployed again. */
export const MAX_DATASOURCE_RETRIES = 2;

export interface WantedDeployment {
  readonly systemId: string;
  /** The pool of its agent; empty: it has none, and gets no token. */
  readonly pool: string;
  readonly osystem: string;
  readonly distroSeries: string;
  /** How the image was named. */
  readonly asked?: string;
}

/** What the site deploys where nobody names anything else. */
export function siteDeployment(environment: MaasStepEnvironment, pool: string): WantedDeployment {
  const { osystem, distroSeries } = environment.capabilities.maas.site.deploy;
  return { systemId: idOf(environment), pool, osystem, distroSeries };
}

/** With everything but the token. */
export function renderWithoutToken(environment: MaasStepEnvironment, pool: string): string {
  return renderFor(environment, { pool, token: '{token}', hostKey: null });
}

export async function deployMachine(
  environment: MaasStepEnvironment,
  context: StepContext,
  wanted: WantedDeployment,
): Promise<Acted> {
  const { machine, capabilities, controlPlane } = environment;
  const { systemId, pool, osystem, distroSeries } = wanted;
  const call = callOf(context, machine);
  await making(context, 'deployment', async () => {
    const token = pool === '' ? '' : (await controlPlane.nodeServices.issueAgentToken(call, pool)).token;
    const hostKey = wantsHostKey(environment) ? newHostKey() : null;
    // First, so that whatever comes up with it is known.
    if (hostKey) await controlPlane.nodeServices.rememberHostKey(call, hostKey.publicKey);
    await capabilities.maas.deploy(call, systemId, {
      userData: renderFor(environment, { pool, token, hostKey }),
      osystem,
      distroSeries,
      enableHardwareSync: capabilities.maas.site.deploy.hardwareSync,
      hweKernel: kernelFor(environment, wanted),
    });
  });
  return started('deployment begins');
}

/** A deployment that failed has nothing on it that anybody uses. */
export async function releaseFailed(
  environment: MaasStepEnvironment,
  context: StepContext,
  comment: string,
): Promise<Acted> {
  const release = { erase: false, secureErase: false, quickErase: false, comment };
  await context.effect(() =>
    environment.capabilities.maas.release(callOf(context, environment.machine), idOf(environment), release),
  );
  return started('releasing the machine for another try');
}

/** Done: another try may help. */
export async function classifyFailure(
  environment: MaasStepEnvironment,
  call: ProviderCall,
  seen: MaasMachine,
): Promise<Seen> {
  const events = await environment.capabilities.maas.events(call, seen.systemId, 50);
  if (isDatasourceFailure(events)) return done('the machine did not find its datasource');
  const what = seen.statusMessage || events[0]?.description || 'no reason given';
  return needsHuman('DEPLOYMENT_FAILED', `MAAS says: ${what}`);
}

export function datasourceFailed(): Seen {
  const message = `the datasource failed ${MAX_DATASOURCE_RETRIES + 1} times; cloud-init does not reach MAAS`;
  return needsHuman('DATASOURCE_FAILED', message);
}

/** A kernel is one of a release: MAAS refuses it for another image, which gets the one that MAAS chooses. */
function kernelFor(
  { machine, capabilities: { maas } }: MaasStepEnvironment,
  wanted: WantedDeployment,
): string | null {
  const { osystem, distroSeries } = maas.site.deploy;
  const isNamedSo = wanted.osystem === osystem && wanted.distroSeries === distroSeries;
  const isSites = isNamedSo || wanted.asked === imageText(maas.site.deploy);
  return isSites ? maas.site.optionsFor(machine).kernel.deploy : null;
}

function wantsHostKey({ capabilities: { maas } }: MaasStepEnvironment): boolean {
  return maas.site.ssh !== null && !bringsHostKeys(maas.site.readUserDataTemplate() ?? '');
}

interface Rendered {
  readonly pool: string;
  readonly token: string;
  readonly hostKey: HostKey | null;
}

function renderFor(
  { machine, capabilities, controlPlane }: MaasStepEnvironment,
  { pool, token, hostKey }: Rendered,
): string {
  const { site } = capabilities.maas;
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
