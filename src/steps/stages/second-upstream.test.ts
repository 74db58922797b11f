/** The stages of the workflows are not MAAS's: a machine goes through the same ones with another upstream. */
import { expect, it } from 'vitest';
import { changeByDrift } from '../../domain/condition/drift.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { DECOMMISSION_MODES, ONBOARDING, STAGES, type StageName } from '../../domain/workflow/stage.ts';
import { MemoryUpstream } from '../../providers/memory-upstream.fixture.ts';
import { NO_CONTROL_PLANE } from '../control-plane.fixture.ts';
import type { ControlPlane, NodeServices } from '../control-plane.ts';
import { defineStep } from '../registry.ts';
import { type Disturbance, StepRun } from '../step-proof.fixture.ts';

const stepsOf = (names: readonly StageName[]) =>
  names.map((stage) => {
    const { timeoutSeconds, maxRetries } = STAGES[stage];
    const config = { stage, pool: 'gpu', erase: true };
    return defineStep({ name: stage, kind: 'stage', config, timeoutSeconds, maxRetries });
  });

/** A workflow on one machine of a foundry; the agent is there as soon as a system that has its token is. */
function workflow(
  names: readonly StageName[],
  machine: Partial<Machine>,
  { foundry, disturbance = {} }: { foundry?: MemoryUpstream; disturbance?: Disturbance } = {},
) {
  const upstream = foundry ?? new MemoryUpstream();
  const tokens: string[] = [];
  const nodeServices: Partial<NodeServices> = {
    serverUrl: () => 'http://ingot.example',
    issueAgentToken: async () => ({ token: `token-${tokens.push('issued')}` }),
    forgetSecrets: async () => void tokens.push('forgotten'),
    workloads: async () => null,
    hook: async () => 'not_configured',
  };
  const controlPlane: ControlPlane = { ...NO_CONTROL_PLANE, nodeServices: nodeServices as NodeServices };
  const run = new StepRun(
    {
      steps: stepsOf(names),
      machine: { spec: SPEC, ...machine },
      stepMs: 0,
      provider: (now) => {
        upstream.now = now;
        return upstream.provider();
      },
      controlPlane: () => controlPlane,
      seenAs: (now) => ({ ...now, presence: upstream.deployment ? 'ready' : null }),
    },
    disturbance,
  );
  return { run, upstream, tokens };
}

const SPEC = {
  provider: 'foundry',
  mac_addresses: ['52:54:00:00:00:07'],
} as unknown as Machine['spec'];

it('onboards a machine of a second upstream, and records what that one says of it', async () => {
  const { run, upstream, tokens } = workflow(ONBOARDING, {});
  const end = await run.toTheEnd();
  expect(end).toMatchObject({ status: 'completed', error: undefined });
  expect(upstream.requests).toEqual(['register', 'commission', 'deploy']);
  expect(upstream).toMatchObject({ disk: 9, isAddressAssigned: true });
  expect(upstream.deployment?.userData).toContain('INGOT_MACHINE_TOKEN=token-1');
  expect(tokens).toEqual(['issued']);
  expect(run.currentMachine().observed).toMatchObject({
    source: 'foundry',
    state: 'Deployed',
    upstreamId: 'mould-7',
  });
  const inService: Machine = { ...run.currentMachine(), service: 'active', activeOperationId: null };
  expect(changeByDrift(inService, inService.observed?.state ?? 'absent', null)).toEqual({});
});

it('may die at any point: what the upstream did is found, and not requested again', async () => {
  const { run } = workflow(ONBOARDING, {});
  await run.toTheEnd();
  for (let dieAt = 0; dieAt < run.points; dieAt += 7) {
    const { run: broken, upstream } = workflow(ONBOARDING, {}, { disturbance: { dieAt } });
    expect(await broken.toTheEnd(), `death at point ${dieAt}`).toMatchObject({ status: 'completed' });
    expect(upstream.requests, `death at point ${dieAt}`).toEqual(['register', 'commission', 'deploy']);
  }
});

it('gives it back, erased, and removes it there', async () => {
  const { run: onboarded, upstream } = workflow(ONBOARDING, {});
  await onboarded.toTheEnd();
  upstream.requests.length = 0;
  const { observed } = onboarded.currentMachine();
  const { stages } = DECOMMISSION_MODES.full_decommission;
  const { run } = workflow(stages, { observed, service: 'active' }, { foundry: upstream });
  expect(await run.toTheEnd()).toMatchObject({ status: 'completed' });
  expect(upstream.requests).toEqual(['release, erase disks', 'remove']);
  expect(run.currentMachine()).toMatchObject({ service: 'deleted', observed: { state: 'absent' } });
});

it('takes back what a canceled onboarding created, and nothing else', async () => {
  const { run } = workflow(ONBOARDING, {});
  await run.toTheEnd();
  const lefts = new Set<string>();
  for (let cancelAt = 0; cancelAt < run.points; cancelAt += 7) {
    const { run: canceled, upstream } = workflow(ONBOARDING, {}, { disturbance: { cancelAt } });
    const { status } = await canceled.toTheEnd();
    expect(['cancelled', 'completed']).toContain(status);
    if (status === 'cancelled') expect(upstream.state, `cancel at point ${cancelAt}`).toBeNull();
    lefts.add(upstream.requests.join(', '));
  }
  expect(lefts.size).toBeGreaterThan(3);
});
