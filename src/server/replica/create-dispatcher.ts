/** The engine's dispatcher, joined with what the engine does not know: machines, providers, steps and completion policies. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type MachineChange, mergeChanges } from '../../domain/machine/machine-change.ts';
import { Dispatcher } from '../../engine/dispatcher.ts';
import type { Job } from '../../engine/job.ts';
import type { CrashPoint } from '../../engine/run-job.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { endOf } from '../../operations/end-of-operation.ts';
import type { Provider } from '../../providers/provider.ts';
import type { ControlPlane } from '../../steps/control-plane.ts';
import { canUndo, handlerFor, instantEnd, isInstant } from '../../steps/registry.ts';
import { PostgresOperationStore } from '../../store/operations/writer/operation-store.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Settings } from '../settings/settings.ts';
import type { Store } from './open-store.ts';

const MAX_LOG_BYTES = 1024 * 1024;

export interface DispatcherOptions {
  readonly settings: Settings;
  readonly log: Logger;
  readonly watch: LoopWatch;
  /** Read for each step: it is made after the dispatcher, which it wakes. */
  readonly controlPlane: () => ControlPlane;
  /** For crash tests. */
  readonly crashPoint?: (point: CrashPoint, operation: Job) => void;
  readonly repeatActMs?: number;
  readonly maxProbeMs?: number;
  readonly mayClaimAtStart?: () => boolean;
}

export function createDispatcher(
  options: DispatcherOptions,
  { database, clock, machines }: Store,
  providers: ReadonlyMap<string, Provider>,
): Dispatcher<MachineChange> {
  const { settings, log } = options;
  return new Dispatcher<MachineChange>({
    owner: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
    store: new PostgresOperationStore(database, clock),
    rules: {
      backoff: { firstMs: 1_000, maxMs: 60_000 },
      maxUndoRetries: 3,
      maxDeaths: 10,
      canUndo,
      onEnd: endOf,
      merge: mergeChanges,
    },
    handlerFor: async (operation, step) => {
      const machine = await machines.find(operation.subject, null);
      const provider = machine ? providers.get(machine.spec.provider) : undefined;
      if (machine && provider)
        return handlerFor(step, { machine, provider, controlPlane: options.controlPlane() });
      throw new StepFailure({
        class: 'needs_human',
        code: 'UNKNOWN_PROVIDER',
        message: machine ? `provider ${machine.spec.provider} is not configured` : 'the machine is gone',
      });
    },
    isInstant,
    instantEnd,
    mayClaimAtStart: options.mayClaimAtStart,
    leaseMs: settings.leaseMs,
    maxInHand: settings.maxInHand,
    pollMs: 1_000,
    maxLogBytes: MAX_LOG_BYTES,
    monotonicNow: () => performance.now(),
    random: Math.random,
    repeatActMs: options.repeatActMs,
    maxProbeMs: options.maxProbeMs,
    crashPoint: options.crashPoint ?? (() => {}),
    onUnexpected: (error, operation) =>
      log.error({ err: error, operation: operation.id }, 'unexpected error in a step'),
    watch: options.watch,
    onError: (error, during) => log.error({ err: error }, during),
    onLeaseLost: (operationId) =>
      log.warn({ operation: operationId }, 'lost the lease; another replica has the operation'),
  });
}
