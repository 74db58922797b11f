import { describe, expect, it } from 'vitest';
import { Fault } from '../domain/error/fault.ts';
import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import { type StepContext, StepFailure } from '../engine/step-handler.ts';
import { createFakeProvider } from '../providers/fake/fake-provider.ts';
import { MemoryFakeWorld } from '../providers/fake/memory-fake-world.fixture.ts';
import type { Provider } from '../providers/provider.ts';
import { NO_CONTROL_PLANE } from './control-plane.fixture.ts';
import { canUndo, checkCapabilities, defineStep, handlerFor, isInstant, STEP_KINDS } from './registry.ts';

const fake = createFakeProvider({ name: 'fake', world: new MemoryFakeWorld(), now: () => 0 });
const without = (...names: (keyof Provider['capabilities'])[]): Provider => ({
  ...fake,
  name: 'dc-1',
  capabilities: Object.fromEntries(
    Object.entries(fake.capabilities).filter(([name]) => !(names as string[]).includes(name)),
  ),
});
const netboot = defineStep({
  name: 'set-netboot',
  kind: 'netboot',
  config: { mode: 'PXE' },
  timeoutSeconds: 60,
  maxRetries: 2,
});
const using = (provider: Provider) => ({
  machine: sampleMachine(),
  provider,
  controlPlane: NO_CONTROL_PLANE,
});
const failureOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    if (error instanceof StepFailure) return error.failure;
    throw error;
  }
  throw new Error('did not fail');
};

describe('a step that is defined', () => {
  it('has its kind’s titles and defaults', () => {
    expect(netboot).toEqual({
      name: 'set-netboot',
      kind: 'netboot',
      config: { mode: 'PXE', image: '' },
      timeoutSeconds: 60,
      maxRetries: 2,
      title: 'Setting netboot',
      doneTitle: 'Netboot configured',
    });
  });

  it('may have titles of its own', () => {
    expect(defineStep({ ...netboot, title: 'A', doneTitle: 'B' })).toMatchObject({
      title: 'A',
      doneTitle: 'B',
    });
  });

  it('can’t have a configuration that its kind does not understand, or a kind that there is not', () => {
    expect(() => defineStep({ ...netboot, config: { mode: 'TAPE' } })).toThrow();
    expect(() => defineStep({ ...netboot, kind: 'dance' })).toThrow('there is no step kind dance');
  });
});

describe('the registry', () => {
  it('lists each kind under its own name', () => {
    for (const [name, kind] of STEP_KINDS) {
      expect(kind.kind).toBe(name);
      expect([kind.title, kind.doneTitle]).not.toContain('');
    }
  });

  it('takes an unknown kind for one that can’t be undone and takes its time', () => {
    expect([canUndo({ ...netboot, kind: 'dance' }), isInstant({ ...netboot, kind: 'dance' })]).toEqual([
      false,
      false,
    ]);
    expect([canUndo(netboot), isInstant(netboot)]).toEqual([true, false]);
  });
});

describe('checkCapabilities', () => {
  it('lets through what the provider has', () =>
    expect(() => checkCapabilities([netboot], fake)).not.toThrow());

  it('names the step, the capability and the provider otherwise', () => {
    const check = () => checkCapabilities([netboot], without('netboot'));
    expect(check).toThrow(Fault);
    expect(check).toThrow('step set-netboot needs netboot, which provider dc-1 does not have');
  });
});

describe('handlerFor', () => {
  it('leaves a kind that this server does not know to a person', () => {
    expect(failureOf(() => handlerFor({ ...netboot, kind: 'dance' }, using(fake)))).toMatchObject({
      class: 'needs_human',
      code: 'UNKNOWN_STEP_KIND',
    });
  });

  it('leaves a configuration that this server does not understand to a person, too', () => {
    const failure = failureOf(() => handlerFor({ ...netboot, config: { mode: 7 } }, using(fake)));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'INVALID_STEP_CONFIG' });
    expect(failure.message).toContain('set-netboot');
  });

  it('leaves a capability that was lost to a person', () => {
    expect(failureOf(() => handlerFor(netboot, using(without('netboot'))))).toMatchObject({
      class: 'needs_human',
      code: 'CAPABILITY_MISSING',
    });
  });
});

describe('a command that may run only once', () => {
  const step = defineStep({ ...netboot, kind: 'ssh', config: { command: 'reboot-the-world' } });
  const context = (fields: Partial<StepContext>) =>
    ({ operationId: 'op-1', step: 'ssh', attempt: 1, memo: {}, ...fields }) as StepContext;

  it('is not run again by the attempt after one that ran out of time', async () => {
    const handler = handlerFor(step, using(fake));
    expect(await handler.observe(context({ attempt: 2, memo: { begun: 1 } }))).toMatchObject({
      seen: 'unobservable',
      failure: { class: 'effect_unknown', code: 'EFFECT_UNKNOWN' },
    });
  });

  it('is run by the attempt after one that was seen to fail', async () => {
    const handler = handlerFor(step, using(fake));
    expect(await handler.observe(context({ attempt: 2 }))).toEqual({
      seen: 'unobservable',
      failure: null,
    });
  });
});
