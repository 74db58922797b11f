/**
 * What every provider promises (src/providers/provider.ts), checked against its real or simulated counterpart:
 *
 * - a read changes nothing;
 * - an effect that is called twice with one key has happened once;
 * - an aborted call ends promptly with the reason of the abort, and one that was aborted before has no effect;
 * - a holder that has lost its operation has no effect;
 * - a failure has the class that says what to do about it;
 * - no secret is in a log line or in a failure's message.
 *
 * A provider's file supplies the counterpart and one case for each method that the provider has; a method without a case fails.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { StepFailure } from '../../src/engine/step-handler.ts';
import type { Capabilities, Capability, Provider, ProviderCall } from '../../src/providers/provider.ts';

type MethodsOf<T> = T extends unknown
  ? { [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => unknown ? K : never }[keyof T]
  : never;

/** A command runs again when it is called again: its step decides whether it may. */
type Kind = 'read' | 'effect' | 'command';

/** Every method of every capability. A new one does not compile until it is here. */
const METHODS = {
  power: { bootState: 'read', reboot: 'effect', switchPower: 'effect', shutDown: 'effect' },
  netboot: { bootDevice: 'read', setBootDevice: 'effect', confirm: 'read' },
  imaging: { imagingState: 'read', startImaging: 'effect', stopImaging: 'effect', find: 'read' },
  erasing: { erasingState: 'read', startErasing: 'effect', stopErasing: 'effect' },
  cluster: {
    membership: 'read',
    ready: 'read',
    node: 'read',
    join: 'effect',
    cordon: 'effect',
    evict: 'effect',
    uncordon: 'effect',
  },
  remoteExec: { run: 'command' },
  inspect: { host: 'read', bmc: 'read', cluster: 'read' },
  inventory: { readHardware: 'read' },
  sensors: { read: 'read' },
  console: { open: 'read' },
  media: { inserted: 'read', insert: 'effect', eject: 'effect', ejectLeft: 'effect' },
  bios: { compare: 'read', stage: 'effect', taskState: 'read' },
  bootOrder: { compare: 'read', stage: 'effect', taskState: 'read' },
  firmware: { compare: 'read', update: 'effect', findUpdate: 'read', taskState: 'read' },
  volumes: { compare: 'read', change: 'effect', taskState: 'read' },
  burnIn: { state: 'read', start: 'effect', stop: 'effect' },
  drives: { list: 'read', erase: 'effect', findErasure: 'read', taskState: 'read' },
  bmc: {
    power: 'read',
    offersPower: 'read',
    indicator: 'read',
    powerReading: 'read',
    logEntries: 'read',
    bootOverride: 'read',
    certificate: 'read',
    rotation: 'read',
    passwordState: 'read',
    // Sent again it is done again: its step decides whether it may be.
    changePower: 'command',
    resetBmc: 'command',
    setIndicator: 'effect',
    setPowerLimit: 'effect',
    clearLog: 'effect',
    setBootOverride: 'effect',
    preparePassword: 'effect',
    changePassword: 'effect',
    promotePassword: 'effect',
    dropPassword: 'effect',
  },
  upstream: {
    find: 'read',
    findOnly: 'read',
    observe: 'read',
    list: 'read',
    listByAddress: 'read',
    checkOwnership: 'read',
    missingSettings: 'read',
    planStorage: 'read',
    deploymentFailure: 'read',
    markErasure: 'read',
    erasureProgress: 'read',
    erasureReport: 'read',
    queryPower: 'read',
    register: 'effect',
    applySettings: 'effect',
    remove: 'effect',
    commission: 'effect',
    acceptFailedTests: 'effect',
    applyStorage: 'effect',
    assignAddress: 'effect',
    deploy: 'effect',
    abort: 'effect',
    release: 'effect',
    unblockRelease: 'effect',
    powerOff: 'effect',
  },
} as const satisfies { [C in Capability]: Record<MethodsOf<Capabilities[C]>, Kind> };

export interface Case {
  /** Brings the other side to where the call has something to do. */
  readonly prepare?: () => Promise<unknown>;
  readonly run: (call: ProviderCall) => Promise<unknown>;
  /** Waits until the effect can be seen on the other side. */
  readonly settled?: () => Promise<unknown>;
  /** It has nothing to do on this provider: it neither acts nor checks the lease. */
  readonly isInert?: true;
}

/** By "power.switchPower". */
export type Cases = Readonly<Record<string, Case>>;

/** What goes wrong on the other side, and how the provider must classify it. */
export const FAILURES = {
  /** Nothing answers: the engine waits, and no retry is used up. */
  unreachable: ({ failure, outage }: StepFailure) => failure.class === 'retryable' && outage !== null,
  /** It answers and refuses: an operator has to act. */
  refused: ({ failure, outage }: StepFailure) => failure.class === 'needs_human' && outage === null,
  /** The connection ends before the answer: whether the effect happened is not known. */
  cut: ({ failure, outage }: StepFailure) =>
    failure.class === 'effect_unknown' || outage?.effect === 'unknown',
  /** It was tried and did not work: another attempt may. */
  failed: ({ failure, outage }: StepFailure) => failure.class === 'retryable' && outage === null,
} as const satisfies Record<string, (failure: StepFailure) => boolean>;

export interface FailureCase {
  readonly kind: keyof typeof FAILURES;
  readonly method: string;
  /** Causes the failure; the result removes the cause again. */
  readonly arrange: () => Promise<() => unknown>;
  /** In place of the case's own call: of a provider with other credentials, or one that takes longer. */
  readonly run?: (call: ProviderCall) => Promise<unknown>;
}

export interface Counterpart {
  readonly provider: Provider;
  readonly machine: () => Machine;
  readonly cases: Cases;
  /** Everything that an effect could change on the other side. */
  readonly snapshot: () => Promise<unknown>;
  readonly failures: readonly FailureCase[];
  /** Calls that take long enough to be aborted. */
  readonly slow: readonly Omit<FailureCase, 'kind'>[];
  readonly secrets: readonly string[];
  readonly close: () => Promise<unknown>;
}

const PROMPT_MS = 2_500;
const LOST = new Error('another replica has the operation');
const ABORTED = new Error('the operation was canceled');

/** The cases of a file are listed before its counterpart is there: vitest needs the names first. */
export function describeProviderContract(
  name: string,
  methods: readonly string[],
  open: () => Promise<Counterpart>,
): void {
  describe(`the provider contract: ${name}`, () => {
    let part: Counterpart;
    let operations = 0;
    const messages: string[] = [];
    beforeAll(async () => {
      part = await open();
    }, 60_000);
    afterAll(() => part?.close());

    /** Of a separate operation, whose log lines are kept. */
    const newCall = (fields: Partial<ProviderCall> = {}): ProviderCall => ({
      machine: part.machine(),
      key: `op-${++operations}/work/1`,
      step: 'work',
      fence: 1,
      checkHeld: () => {},
      signal: new AbortController().signal,
      log: (text) => messages.push(text),
      ...fields,
    });

    const failureOf = async (work: Promise<unknown>): Promise<unknown> => {
      const error = await work.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      if (error instanceof Error) messages.push(error.message);
      if (error instanceof StepFailure) messages.push(error.failure.message, JSON.stringify(error.outage));
      return error;
    };

    const caseOf = (method: string): Case => {
      const found = part.cases[method];
      if (!found) throw new Error(`${method} has no case`);
      return found;
    };

    const ofKind = (...kinds: readonly Kind[]) => methods.filter((method) => kinds.includes(kindOf(method)));

    it('has a case for every method that the provider has', () => {
      const has = Object.entries(part.provider.capabilities).flatMap(([capability, port]) =>
        Object.keys(METHODS[capability as Capability])
          .filter((method) => typeof (port as unknown as Record<string, unknown>)[method] === 'function')
          .map((method) => `${capability}.${method}`),
      );
      expect([...methods].sort()).toEqual(has.sort());
      expect(Object.keys(part.cases).sort()).toEqual(has.sort());
    });

    it.each(ofKind('read'))('%s changes nothing', async (method) => {
      const { prepare, run } = caseOf(method);
      await prepare?.();
      const before = await part.snapshot();
      await run(newCall());
      await run(newCall());
      expect(await part.snapshot()).toEqual(before);
    });

    it.each(ofKind('effect'))('%s twice with one key is once', async (method) => {
      const { prepare, run, settled, isInert } = caseOf(method);
      await prepare?.();
      const before = await part.snapshot();
      const call = newCall();
      await run(call);
      await settled?.();
      const after = await part.snapshot();
      if (!isInert) expect(after).not.toEqual(before);
      // What is done or under way may be refused, but not done again.
      const error = await failureOf(run(call));
      if (error !== null) expect(error).toBeInstanceOf(StepFailure);
      await settled?.();
      expect(await part.snapshot()).toEqual(after);
    });

    it.each(ofKind('effect', 'command'))(
      '%s does nothing for a holder that lost its operation',
      async (method) => {
        const { prepare, run, isInert } = caseOf(method);
        await prepare?.();
        const before = await part.snapshot();
        const checkHeld = () => {
          throw LOST;
        };
        const error = await failureOf(run(newCall({ checkHeld })));
        if (!isInert) expect(error).toBe(LOST);
        expect(await part.snapshot()).toEqual(before);
      },
    );

    it.each(ofKind('effect', 'command'))('%s does nothing once it is aborted', async (method) => {
      const { prepare, run, isInert } = caseOf(method);
      await prepare?.();
      const before = await part.snapshot();
      const error = await failureOf(run(newCall({ signal: AbortSignal.abort(ABORTED) })));
      if (!isInert) expect(error).toBe(ABORTED);
      expect(await part.snapshot()).toEqual(before);
    });

    it('ends a call promptly when it is aborted on the way', async () => {
      for (const { method, arrange, run } of part.slow) {
        await caseOf(method).prepare?.();
        const restore = await arrange();
        try {
          const stop = new AbortController();
          const ending = failureOf((run ?? caseOf(method).run)(newCall({ signal: stop.signal })));
          await sleep(300);
          const since = performance.now();
          stop.abort(ABORTED);
          expect(await ending, method).toBe(ABORTED);
          expect(performance.now() - since, method).toBeLessThan(PROMPT_MS);
        } finally {
          await restore();
        }
      }
    });

    it('says by the class of a failure what is to be done about it', async () => {
      for (const { kind, method, arrange, run } of part.failures) {
        await caseOf(method).prepare?.();
        const restore = await arrange();
        try {
          const error = await failureOf((run ?? caseOf(method).run)(newCall()));
          const where = `${method}, ${kind}`;
          expect(error, where).toBeInstanceOf(StepFailure);
          if (error instanceof StepFailure)
            expect([where, FAILURES[kind](error), error.failure]).toEqual([where, true, error.failure]);
        } finally {
          await restore();
        }
      }
    });

    it('keeps secrets out of log lines and messages', () => {
      const all = messages.join('\n');
      for (const secret of part.secrets) {
        expect(secret.length).toBeGreaterThan(5);
        expect(all).not.toContain(secret);
      }
    });
  });
}

function kindOf(method: string): Kind {
  const [capability = '', name = ''] = method.split('.');
  const kinds = (METHODS as Readonly<Record<string, Readonly<Record<string, Kind>>>>)[capability] ?? {};
  const kind = kinds[name];
  if (!kind) throw new Error(`${method} is no method of a capability`);
  return kind;
}
