import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NO_CONTROL_PLANE } from '../../src/steps/control-plane.fixture.ts';
import { checkCapabilities, completeStep, defineStep, handlerFor } from '../../src/steps/registry.ts';
import { needs } from '../parts/debian-packages.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { createHost, type StandInHost } from '../parts/kubernetes/host.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { attemptOf } from './attempt.ts';
import { clustersOf, createSite, machineAt, type Site } from './site.ts';

const programs = needs('sshd');

describe.skipIf(programs.isMissing)(programs.title('the step kinds on a datacenter’s machine'), () => {
  let api: ApiServer;
  let host: StandInHost;
  let sshd: Sshd;
  let site: Site;

  beforeAll(async () => {
    api = await startApiServer();
    host = createHost();
    sshd = await startSshd({ env: host.env });
    site = createSite(sshd, { clusters: clustersOf(api), hostFiles: host.files });
  });
  afterEach(() => expect(api.secrets.names()).toEqual([]));
  afterAll(async () => {
    await sshd.stop();
    await api.stop();
    site.remove();
    host.remove();
  });

  const stepOf = (kind: string, config: Record<string, unknown>) => {
    const machine = machineAt(sshd.endpoint);
    const step = defineStep({ name: kind, kind, config, timeoutSeconds: 60, maxRetries: 1 });
    const complete = completeStep(step, machine, site.provider);
    checkCapabilities([complete], site.provider);
    return handlerFor(complete, { machine, provider: site.provider, controlPlane: NO_CONTROL_PLANE });
  };

  it('join, then verify: Ready in the machine’s own cluster, and the condition says so', async () => {
    api.joinNotReady = true;
    const joining = stepOf('join', {});
    const { context } = attemptOf('join', 1);
    expect(await joining.observe(context)).toEqual({ seen: 'absent' });
    expect(await joining.act(context)).toMatchObject({ result: 'started' });
    expect(await joining.observe(context)).toMatchObject({ seen: 'done', message: 'joined cluster-a' });
    const verifying = stepOf('verify', {});
    const verify = attemptOf('verify', 1);
    expect(await verifying.observe(verify.context)).toMatchObject({ seen: 'under_way' });
    api.setNode('m-1', 'Ready');
    expect(await verifying.observe(verify.context)).toMatchObject({
      seen: 'done',
      change: { conditions: [{ type: 'InCustomerCluster', status: true, reason: 'NodeReady' }] },
    });
  });

  it('join, started again by another replica: done at the first observation', async () => {
    const { context } = attemptOf('join', 2);
    const before = host.joins();
    expect(await stepOf('join', {}).observe(context)).toMatchObject({ seen: 'done' });
    expect(host.joins()).toBe(before);
  });

  it('ssh: runs its command unless its check passes', async () => {
    const file = join(host.dir, 'made');
    const handler = stepOf('ssh', { command: `touch ${file}; echo made`, check: `test -e ${file}` });
    const { context, logged } = attemptOf('ssh', 1);
    expect(await handler.observe(context)).toEqual({ seen: 'absent' });
    expect(await handler.act(context)).toMatchObject({ result: 'done' });
    expect(existsSync(file)).toBe(true);
    expect(logged).toContain('made');
    expect(await handler.observe(context)).toMatchObject({ seen: 'done' });
  });

  it('ssh: a command that fails says with what', async () => {
    const handler = stepOf('ssh', { command: 'echo broken >&2; exit 4' });
    const { context, logged } = attemptOf('ssh', 1);
    expect(await handler.act(context)).toMatchObject({
      result: 'failed',
      failure: { class: 'retryable', message: 'the command exited with 4' },
    });
    expect(logged).toContain('broken');
  });

  it('reboot: refused before anything starts, where no BMC is configured', () => {
    expect(() => stepOf('reboot', {})).toThrow(/needs power, which provider dc-1 does not have/);
  });
});
