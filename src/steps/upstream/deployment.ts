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
export function siteDeployment(scene: MaasStepEnvironment, pool: string): WantedDeployment {
  const { osystem, distroSeries } = scene.can.maas.site.deploy;
  return { systemId: idOf(scene), pool, osystem, distroSeries };
}

/** With everything but the token. */
export function renderWithoutToken(scene: MaasStepEnvironment, pool: string): string {
  return renderFor(scene, { pool, token: '{token}', hostKey: null });
}

export async function deployMachine(
  scene: MaasStepEnvironment,
  context: StepContext,
  wanted: WantedDeployment,
): Promise<Acted> {
  const { machine, can } = scene;
  const { systemId, pool, osystem, distroSeries } = wanted;
  const call = callOf(context, machine);
  await making(context, 'deployment', async () => {
    const token = pool === '' ? '' : (await can.nodeServices.issueAgentToken(call, pool)).token;
    const hostKey = wantsHostKey(scene) ? newHostKey() : null;
    // First, so that whatever comes up with it is known.
    if (hostKey) await can.nodeServices.rememberHostKey(call, hostKey.publicKey);
    await can.maas.deploy(call, systemId, {
      userData: renderFor(scene, { pool, token, hostKey }),
      osystem,
      distroSeries,
      enableHardwareSync: can.maas.site.deploy.hardwareSync,
      hweKernel: kernelFor(scene, wanted),
    });
  });
  return started('deployment begins');
}

/** A deployment that failed has nothing on it that anybody uses. */
export async function releaseFailed(
  scene: MaasStepEnvironment,
  context: StepContext,
  comment: string,
): Promise<Acted> {
  const release = { erase: false, secureErase: false, quickErase: false, comment };
  await context.effect(() => scene.can.maas.release(callOf(context, scene.machine), idOf(scene), release));
  return started('releasing the machine for another try');
}

/** Done: another try may help. */
export async function classifyFailure(
  scene: MaasStepEnvironment,
  call: ProviderCall,
  seen: MaasMachine,
): Promise<Seen> {
  const events = await scene.can.maas.events(call, seen.systemId, 50);
  if (isDatasourceFailure(events)) return done('the machine did not find its datasource');
  const what = seen.statusMessage || events[0]?.description || 'no reason given';
  return needsHuman('DEPLOYMENT_FAILED', `MAAS says: ${what}`);
}

export function datasourceFailed(): Seen {
  const message = `the datasource failed ${MAX_DATASOURCE_RETRIES + 1} times; cloud-init does not reach MAAS`;
  return needsHuman('DATASOURCE_FAILED', message);
}

/** A kernel is one of a release: MAAS refuses it for another image, which gets the one that MAAS chooses. */
function kernelFor({ machine, can: { maas } }: MaasStepEnvironment, wanted: WantedDeployment): string | null {
  const { osystem, distroSeries } = maas.site.deploy;
  const isNamedSo = wanted.osystem === osystem && wanted.distroSeries === distroSeries;
  const isSites = isNamedSo || wanted.asked === imageText(maas.site.deploy);
  return isSites ? maas.site.optionsFor(machine).kernel.deploy : null;
}

function wantsHostKey({ can: { maas } }: MaasStepEnvironment): boolean {
  return maas.site.ssh !== null && !bringsHostKeys(maas.site.readUserDataTemplate() ?? '');
}

interface Rendered {
  readonly pool: string;
  readonly token: string;
  readonly hostKey: HostKey | null;
}

function renderFor({ machine, can }: MaasStepEnvironment, { pool, token, hostKey }: Rendered): string {
  const { site } = can.maas;
  const agent = {
    server: can.nodeServices.serverUrl(),
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
