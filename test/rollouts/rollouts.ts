/** Rollouts to test with: specs, and the functions below the API on the database of a server. */
import { randomBytes } from 'node:crypto';
import type { Caller } from '../../src/domain/access/caller.ts';
import { sortableId } from '../../src/domain/id.ts';
import type { RequestedAction } from '../../src/domain/rollout/requested-action.ts';
import type { Rollout, RolloutMachine } from '../../src/domain/rollout/rollout.ts';
import { isEnded } from '../../src/domain/rollout/rollout-state.ts';
import type { RolloutSpec, RolloutStep } from '../../src/domain/rollout/spec/rollout-spec.ts';
import { actOnRollout } from '../../src/operations/rollouts/act-on-rollout.ts';
import { createRollout } from '../../src/operations/rollouts/create-rollout.ts';
import { rollBack } from '../../src/operations/rollouts/roll-back.ts';
import { createFakeProvider } from '../../src/providers/fake/fake-provider.ts';
import type { RunnerDependencies } from '../../src/reconcilers/rollout-runner/run-pass.ts';
import { BudgetBook } from '../../src/store/budgets/budget-book.ts';
import { Database } from '../../src/store/database/database.ts';
import { createFakeWorld } from '../../src/store/fake-world.ts';
import { OperationStarter } from '../../src/store/operations/writer/operation-starter.ts';
import { findRollout, listRolloutMachines } from '../../src/store/rollouts/find-rollouts.ts';
import { fresh } from '../api/fleet.ts';
import { until } from '../parts/until.ts';

export const NO_STOP: RolloutSpec['stop'] = {
  afterFailures: null,
  failurePercent: null,
  sameError: null,
  poolDegraded: false,
  unhealthy: '',
  metrics: [],
  cancelRunning: false,
};

const REBOOT: readonly RolloutStep[] = [{ verb: 'reboot' }];

function specOf(given: Partial<RolloutSpec>): RolloutSpec {
  return {
    name: 'test',
    filter: '',
    machineIds: [],
    follow: false,
    steps: REBOOT,
    waves: { sizes: ['rest'] },
    soakMs: 0,
    gate: 'automatic',
    gates: [],
    maxParallel: null,
    limits: [],
    stop: NO_STOP,
    windows: [],
    blackouts: [],
    startAt: null,
    deadline: null,
    reason: '',
    overrideBudget: false,
    ...given,
  };
}

export function callerNamed(name: string, role = 'operator'): Caller {
  return {
    role,
    methods: null,
    scope: null,
    actor: { kind: role === 'admin' ? 'admin' : 'operator', id: name },
    via: 'token',
    expiresAt: null,
    address: '127.0.0.1',
  };
}

const ALICE = callerNamed('alice');

/** As a replica has them, on a database of its own connection. */
export class Rollouts {
  readonly database: Database;
  readonly dependencies: RunnerDependencies;

  constructor(url: string) {
    this.database = new Database({ url, maxConnections: 6, onIdleError: () => {} });
    const fake = createFakeProvider({ name: 'fake', world: createFakeWorld(this.database), now: Date.now });
    this.dependencies = {
      database: this.database,
      starter: new OperationStarter(this.database, new BudgetBook([])),
      providers: new Map([['fake', fake]]),
      newOperationId: () => sortableId('op', Date.now(), randomBytes(10)),
      newRolloutId: () => sortableId('ro', Date.now(), randomBytes(10)),
      approvalRules: [],
      stepDefaults: { timeoutSeconds: 60, maxRetries: 0 },
      now: () => new Date(),
      wake: () => {},
      onStarted: () => {},
      notifyCancel: () => {},
      keepalives: { read: async (agents) => agents.map(() => null) },
    };
  }

  create(given: Partial<RolloutSpec>, requestId = fresh('request'), caller = ALICE): Promise<Rollout> {
    return createRollout(this.dependencies, { spec: specOf(given), requestId, caller });
  }

  act(
    rolloutId: string,
    action: RequestedAction,
    { requestId = fresh('request'), reason = '', caller = ALICE } = {},
  ): Promise<Rollout> {
    return actOnRollout(this.dependencies, { rolloutId, requestId, reason, caller, action });
  }

  rollBack(rolloutId: string, requestId = fresh('request')): Promise<Rollout> {
    return rollBack(this.dependencies, { rolloutId, requestId, reason: '', caller: ALICE });
  }

  async get(rolloutId: string): Promise<Rollout> {
    const rollout = await findRollout(this.database, rolloutId, null);
    if (!rollout) throw new Error(`there is no ${rolloutId}`);
    return rollout;
  }

  async machines(rolloutId: string): Promise<readonly RolloutMachine[]> {
    const page = await listRolloutMachines(this.database, {
      rolloutId,
      filter: null,
      scope: null,
      after: '',
      size: 5_000,
    });
    return page.rows;
  }

  ended(rolloutId: string): Promise<Rollout> {
    return this.untilIs(rolloutId, ({ state }) => isEnded(state));
  }

  untilIs(rolloutId: string, test: (rollout: Rollout) => boolean): Promise<Rollout> {
    return until(() => this.get(rolloutId), test);
  }

  close(): Promise<void> {
    return this.database.close();
  }
}
