import { describe, expect, it } from 'vitest';
import { RUN_TYPE_NAMES, type RunType } from '../v1/run-type.ts';
import { DEFAULT_PLANS } from './plan.ts';

/** Name, kind, timeout in seconds, retries: as the design lists them. */
const DESIGNED = {
  REPAVE: [
    'set-netboot netboot 60/2',
    'repave-os repave 1800/1',
    'reboot reboot 300/2',
    'join-cluster join 600/1',
    'verify verify 300/0',
  ],
  REBOOT: ['reboot reboot 300/1'],
  RMA: ['drain-check rma 120/1', 'graceful-shutdown rma 120/1', 'mark-rma rma 60/1'],
  UPGRADE: [
    'cordon cluster 60/2',
    'drain cluster 600/1',
    'upgrade-kubelet ssh 300/1',
    'restart-kubelet ssh 300/1',
    'uncordon cluster 60/2',
    'verify verify 120/3',
  ],
  NET_RECONFIG: ['apply net 120/2', 'verify-connectivity net 60/3'],
  JOIN: ['join-cluster join 600/1', 'verify verify 300/0'],
} as const satisfies Record<RunType, readonly string[]>;

describe.each(RUN_TYPE_NAMES)('the default plan of %s', (type) => {
  const { planId, displayName, steps } = DEFAULT_PLANS[type];

  it('has the steps of the design', () => {
    expect(
      steps.map((step) => `${step.name} ${step.kind} ${step.timeoutSeconds}/${step.maxRetries}`),
    ).toEqual(DESIGNED[type]);
  });

  it('has a name, and an id that names its run type', () => {
    expect(planId).toBe(`default-${type.toLowerCase().replace('_', '-')}`);
    expect(displayName).not.toBe('');
  });

  it('has no command that would not bear being run twice', () => {
    for (const { kind, config } of steps)
      if (kind === 'ssh') expect(config).toMatchObject({ repeatable: true });
  });
});
