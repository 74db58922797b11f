// @module-tag extended: maas/reimage.test.ts deploys an image; this has each answer of an upstream.
/** The proofs of step-proofs.test.ts, for an image that a MAAS deploys: a crash or a cancel at every point. */
import { describe, expect, it } from 'vitest';
import type { MaasStatus } from '../../providers/maas/client/maas-control.ts';
import { imageText } from '../../providers/maas/maas-images.ts';
import { MemoryMaas, WORK_MS } from '../../providers/maas/memory-maas.fixture.ts';
import { NO_CONTROL_PLANE } from '../control-plane.fixture.ts';
import { type Disturbance, type End, StepRun } from '../step-proof.fixture.ts';

const IMAGE = 'ubuntu/jammy';

interface Site {
  readonly image?: string;
  readonly workMs?: number;
  readonly erasesAlways?: boolean;
}

async function deployed(
  status: MaasStatus,
  disturbance: Disturbance = {},
  { image = IMAGE, workMs = WORK_MS, erasesAlways = false }: Site = {},
): Promise<{ end: End; maas: MemoryMaas; points: number }> {
  const made: MemoryMaas[] = [];
  const run = new StepRun(
    {
      kind: 'repave',
      config: { image, pool: 'gpu' },
      machine: { presence: 'ready', pool: 'gpu' },
      stepMs: 0,
      provider: (now) => {
        const maas = new MemoryMaas(now, status, workMs);
        maas.erasesAlways = erasesAlways;
        made.push(maas);
        return maas.provider();
      },
      controlPlane: () => made[0]?.controlPlane() ?? NO_CONTROL_PLANE,
    },
    disturbance,
  );
  const end = await run.toTheEnd();
  const [maas] = made;
  if (!maas) throw new Error('there is no MAAS');
  return { end, maas: maas.settle(), points: run.points };
}

const CASES = [
  ['Deployed', ['release', `deploy ${IMAGE}`]],
  ['Ready', [`deploy ${IMAGE}`]],
  ['Failed deployment', ['release', `deploy ${IMAGE}`]],
] as const satisfies ReadonlyArray<readonly [MaasStatus, readonly string[]]>;

// One that has to be released before, and one that has not.
describe.each(CASES.filter(isSample))('of a machine that is %s', proveStatus);
describe.each(CASES.filter((row) => !isSample(row)))(
  'of a machine that is %s',
  { tags: ['extended'] },
  proveStatus,
);

function isSample([status]: (typeof CASES)[number]): boolean {
  return status === 'Ready' || status === 'Deployed';
}

function proveStatus(status: MaasStatus, orders: readonly string[]): void {
  it('releases it where it must, and deploys it once', async () => {
    const { end, maas } = await deployed(status);
    expect(end).toMatchObject({ status: 'completed', attempts: 1 });
    expect(maas.orders).toEqual(orders);
    expect(end.machine.conditions).toMatchObject({ Provisioned: { status: true, reason: 'ImageWritten' } });
  });

  const TITLE = 'may die at any point (taken over after %i ms)';
  it.each([100])(TITLE, proveDeaths);
  it.each([2 * WORK_MS])(TITLE, { tags: ['extended'] }, proveDeaths);

  async function proveDeaths(leaseMs: number): Promise<void> {
    const { points } = await deployed(status, { leaseMs });
    expect(points).toBeGreaterThan(10);
    for (let dieAt = 0; dieAt < points; dieAt += 1) {
      const { end, maas } = await deployed(status, { dieAt, leaseMs });
      expect(end, `death at point ${dieAt}`).toMatchObject({ status: 'completed', step: 'succeeded' });
      expect(maas.orders, `death at point ${dieAt}`).toEqual(orders);
      expect(maas).toMatchObject({ status: 'Deployed', isAgentKnown: true, replaced: 0 });
      // The system that runs has the token that is good.
      expect(maas.deployedToken).toBe(maas.token);
    }
  }

  it('may be canceled at any point: never half, and never without saying so', async () => {
    const { points } = await deployed(status);
    const lefts = new Set<string>();
    for (let cancelAt = 0; cancelAt < points; cancelAt += 1) {
      const { end, maas } = await deployed(status, { cancelAt });
      const where = `cancel at point ${cancelAt}: ${JSON.stringify(maas.orders)}`;
      expect(['cancelled', 'completed'], where).toContain(end.status);
      const { Provisioned } = end.machine.conditions as Record<string, { reason?: string } | undefined>;
      const left = [maas.status, Provisioned?.reason ?? '', maas.isAgentKnown].join(' ');
      lefts.add(left);
      // An agent is forgotten only where nothing runs that it could be.
      const untouched = [`${status}  true`, ...(status === 'Ready' ? ['Ready  false'] : [])];
      if (maas.orders.length === 0) expect(untouched, where).toContain(left.replace(' ImagingCanceled', ' '));
      else if (maas.status === 'Ready') expect(left, where).toBe('Ready ImagingCanceled false');
      else {
        expect(imageText(maas.image), where).toBe(IMAGE);
        expect(left, where).toBe('Deployed ImageWritten true');
      }
    }
    expect(lefts.size).toBeGreaterThan(2);
  });
}

it('the site’s kernel goes with the site’s image alone: another image gets the one that MAAS chooses', async () => {
  expect((await deployed('Ready', {}, { image: 'ubuntu/noble' })).maas.kernel).toBe('hwe-24.04');
  expect((await deployed('Ready', {}, { image: 'jammy' })).maas.kernel).toBe(null);
});

it('an attempt that ran out of time leaves its deployment to the next one', async () => {
  // The step's limit is 600 s: it is over while MAAS deploys.
  const { end, maas } = await deployed('Deployed', {}, { workMs: 400_000 });
  expect(end).toMatchObject({ status: 'completed', attempts: 2 });
  expect(maas.orders).toEqual(['release', `deploy ${IMAGE}`]);
});

it('a release that MAAS had erase, and that hangs since, is helped on', async () => {
  const { end, maas } = await deployed('Deployed', {}, { erasesAlways: true });
  expect(end).toMatchObject({ status: 'completed', attempts: 1 });
  expect(maas.orders).toEqual(['release', 'power off', `deploy ${IMAGE}`]);
});
