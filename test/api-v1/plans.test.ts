import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_PLANS } from '../../src/domain/operation/plan.ts';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import { RUN_TYPE_NAMES } from '../../src/domain/v1/run-type.ts';
import type { Plan, PlanSchema, StepSchema } from '../../src/gen/baremetal/v1/plan_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { newPlan, run, startRun, type V1, v1Of } from './runs.ts';

let server: TestServer;
let v1: V1;

beforeAll(async () => {
  server = await startTestServer();
  v1 = v1Of(server);
});
afterAll(() => server?.stop());

type StepInit = MessageInitShape<typeof StepSchema>;
type PlanInit = MessageInitShape<typeof PlanSchema>;
type Kind = NonNullable<StepInit['kind']>;

const REBOOT: StepInit = { name: 'reboot', kind: { case: 'reboot', value: {} } };

function create(plan: PlanInit): Promise<Plan> {
  return server.admin.createPlan({ plan });
}

async function storedPlans(): Promise<unknown[]> {
  return server.sql('SELECT * FROM plans ORDER BY plan_id');
}

describe('a plan is refused, its field named and nothing stored:', () => {
  const steps = [REBOOT];
  const second = (step: StepInit): PlanInit => ({ planId: 'refused', steps: [REBOOT, step] });
  const kind = (value: Kind, name = 'other'): PlanInit => second({ name, kind: value });
  const SHELL = 'x$(reboot)';

  test.each<[what: string, field: string, plan: PlanInit]>([
    ['no id', 'plan.plan_id', { steps }],
    ['an id with a slash', 'plan.plan_id', { planId: 'a/b', steps }],
    ['an id with a space', 'plan.plan_id', { planId: 'a b', steps }],
    ['an id with a NUL', 'plan.plan_id', { planId: 'a\u0000b', steps }],
    ['an id with a line break at its end', 'plan.plan_id', { planId: 'a\n', steps }],
    ['an id that begins with a hyphen', 'plan.plan_id', { planId: '-a', steps }],
    ['an id of 128 characters', 'plan.plan_id', { planId: 'x'.repeat(128), steps }],
    [
      'a display name of 201 characters',
      'plan.display_name',
      { planId: 'p', displayName: 'x'.repeat(201), steps },
    ],
    ['a NUL in its display name', 'plan.display_name', { planId: 'p', displayName: 'a\u0000b', steps }],
    ['an escape in its display name', 'plan.display_name', { planId: 'p', displayName: '\u001b[31m', steps }],
    ['a type of its own choice', 'plan.default_for', { planId: 'p', defaultFor: 'REPAVE', steps }],
    ['no steps', 'plan.steps', { planId: 'refused' }],
    [
      '101 steps',
      'plan.steps',
      { planId: 'refused', steps: Array.from({ length: 101 }, (_, n) => ({ ...REBOOT, name: `s${n}` })) },
    ],
    ['a step of no kind', 'plan.steps[1]', second({ name: 'empty' })],
    ['a step without a name', 'plan.steps[1].name', second({ ...REBOOT, name: '' })],
    ['a step’s name with a space', 'plan.steps[1].name', second({ ...REBOOT, name: 'a b' })],
    ['a step’s name with an escape', 'plan.steps[1].name', second({ ...REBOOT, name: '\u001b[2J' })],
    ['a step’s name of 64 characters', 'plan.steps[1].name', second({ ...REBOOT, name: 'x'.repeat(64) })],
    ['two steps of one name', 'plan.steps[1].name', second(REBOOT)],
    [
      'a negative timeout',
      'plan.steps[1].timeout_seconds',
      second({ ...REBOOT, name: 'b', timeoutSeconds: -1 }),
    ],
    [
      'a timeout of more than a week',
      'plan.steps[1].timeout_seconds',
      second({ ...REBOOT, name: 'b', timeoutSeconds: 604_801 }),
    ],
    ['negative retries', 'plan.steps[1].max_retries', second({ ...REBOOT, name: 'b', maxRetries: -1 })],
    ['101 retries', 'plan.steps[1].max_retries', second({ ...REBOOT, name: 'b', maxRetries: 101 })],
    ['no command', 'plan.steps[1].ssh.command', kind({ case: 'ssh', value: {} })],
    [
      'a NUL in a command',
      'plan.steps[1].ssh.command',
      kind({ case: 'ssh', value: { command: 'a\u0000b' } }),
    ],
    [
      'a command without end',
      'plan.steps[1].ssh.command',
      kind({ case: 'ssh', value: { command: 'x'.repeat(16_385) } }),
    ],
    [
      'a NUL in a check',
      'plan.steps[1].ssh.check',
      kind({ case: 'ssh', value: { command: 'a', check: '\u0000' } }),
    ],
    ['a mode of reboot', 'plan.steps[1].reboot.mode', kind({ case: 'reboot', value: { mode: 'kick' } })],
    ['a boot device', 'plan.steps[1].netboot.mode', kind({ case: 'netboot', value: { mode: 'pxe' } })],
    [
      'an image with a shell',
      'plan.steps[1].repave.image',
      kind({ case: 'repave', value: { image: SHELL } }),
    ],
    [
      'an image with a NUL',
      'plan.steps[1].repave.image',
      kind({ case: 'repave', value: { image: '\u0000' } }),
    ],
    [
      'an image without end',
      'plan.steps[1].repave.image',
      kind({ case: 'repave', value: { image: 'x'.repeat(256) } }),
    ],
    ['a cluster', 'plan.steps[1].join.cluster_ref', kind({ case: 'join', value: { clusterRef: SHELL } })],
    [
      'a cluster',
      'plan.steps[1].verify.cluster_ref',
      kind({ case: 'verify', value: { clusterRef: 'a\nb' } }),
    ],
    ['an action on the net', 'plan.steps[1].net.action', kind({ case: 'net', value: { action: 'cut' } })],
    ['a NUL in a netplan', 'plan.steps[1].net.netplan', kind({ case: 'net', value: { netplan: 'a\u0000' } })],
    ['no RMA action', 'plan.steps[1].rma.action', kind({ case: 'rma', value: {} })],
    ['an RMA action', 'plan.steps[1].rma.action', kind({ case: 'rma', value: { action: 'burn' } })],
    ['no cluster action', 'plan.steps[1].cluster.action', kind({ case: 'cluster', value: {} })],
    ['a cluster action', 'plan.steps[1].cluster.action', kind({ case: 'cluster', value: { action: 'dry' } })],
  ])('%s (%s)', async (_what, field, plan) => {
    const before = await storedPlans();
    const error = await refusal(create(plan));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD', domain: 'ingot' });
    expect(error.violations).toEqual([{ field, description: expect.stringMatching(/./) }]);
    expect(error.message).toContain(field);
    expect([...error.message].every((character) => character >= ' ')).toBe(true);
    expect(await storedPlans()).toEqual(before);
  });

  test('no plan at all', async () => {
    expect(await refusal(server.admin.createPlan({}))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'MISSING_FIELD',
      violations: [{ field: 'plan' }],
    });
  });

  test('a step without a kind is refused with the list of kinds', async () => {
    const error = await refusal(create(second({ name: 'empty' })));
    for (const name of ['ssh', 'reboot', 'netboot', 'repave', 'join', 'verify', 'net', 'rma'])
      expect(error.message).toContain(name);
  });

  test.each(RUN_TYPE_NAMES)('the default plan of %s', async (type) => {
    const { planId } = DEFAULT_PLANS[type];
    expect(await refusal(create({ planId, steps }))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'PLAN_BUILT_IN',
      metadata: { plan_id: planId },
    });
    expect((await v1.plans.getPlan({ planId })).steps).toHaveLength(DEFAULT_PLANS[type].steps.length);
  });
});

describe('a plan', () => {
  test('of every step kind comes back as it was written', async () => {
    const written: StepInit[] = [
      { name: 'ssh', kind: { case: 'ssh', value: { command: 'a &&\n\tb', check: 'c', repeatable: true } } },
      { name: 'reboot', kind: { case: 'reboot', value: { mode: 'ssh' } } },
      { name: 'netboot', kind: { case: 'netboot', value: { mode: 'DISK' } } },
      { name: 'repave', kind: { case: 'repave', value: { image: 'registry:5000/ubuntu@22.04' } } },
      { name: 'join', kind: { case: 'join', value: { clusterRef: 'cluster-a' } } },
      { name: 'verify', kind: { case: 'verify', value: { clusterRef: 'eu/cluster-a' } } },
      {
        name: 'net',
        kind: { case: 'net', value: { action: 'verify', netplan: 'network:\n  version: 2\n' } },
      },
      { name: 'rma', kind: { case: 'rma', value: { action: 'graceful-shutdown' } } },
    ].map((step) => ({ ...step, timeoutSeconds: 5, maxRetries: 0 }) as StepInit);
    const planId = fresh('plan');
    const created = await create({ planId, displayName: 'All kinds – übrigens', steps: written });
    expect(created).toMatchObject({
      planId,
      displayName: 'All kinds – übrigens',
      defaultFor: '',
      steps: written,
    });
    expect(await v1.plans.getPlan({ planId })).toEqual(created);
  });

  test('may be as large as it may be', async () => {
    const steps = Array.from({ length: 100 }, (_, n) => ({
      ...REBOOT,
      name: `${'x'.repeat(60)}${n}`.slice(-63),
      timeoutSeconds: 604_800,
      maxRetries: 100,
    }));
    const planId = fresh('plan').padEnd(127, 'x');
    expect((await create({ planId, displayName: 'ä'.repeat(200), steps })).steps).toHaveLength(100);
  });

  test('without a display name is called by its id', async () => {
    const { planId, displayName } = await newPlan(server, [REBOOT]);
    expect(displayName).toBe(planId);
  });

  test('shows what it inherits, and keeps that it said nothing', async () => {
    const inherits = { name: 'b', kind: REBOOT.kind } as StepInit;
    const planId = fresh('plan');
    const created = await create({
      planId,
      steps: [{ ...REBOOT, timeoutSeconds: 9, maxRetries: 0 }, inherits],
    });
    const numbers = ({ steps }: Plan) =>
      steps.map(({ timeoutSeconds, maxRetries }) => [timeoutSeconds, maxRetries]);
    expect(numbers(created)).toEqual([
      [9, 0],
      [600, 1],
    ]);
    expect(numbers(await v1.plans.getPlan({ planId }))).toEqual(numbers(created));
    const [row] = await server.sql<{ steps: Array<Record<string, unknown>> }>(
      'SELECT steps FROM plans WHERE plan_id = $1',
      [planId],
    );
    expect(row?.steps[1]).toMatchObject({ timeoutSeconds: null, maxRetries: null });
  });

  test('shows the defaults of its step kinds', async () => {
    const { steps } = await newPlan(server, [
      REBOOT,
      { name: 'n', kind: { case: 'netboot', value: {} } },
      { name: 'net', kind: { case: 'net', value: {} } },
    ]);
    expect(steps.map(({ kind }) => kind.value)).toMatchObject([
      { mode: 'bmc' },
      { mode: 'PXE' },
      { action: 'apply' },
    ]);
  });

  test('can be replaced until a run has referenced it', async () => {
    const planId = fresh('plan');
    await create({ planId, steps: [REBOOT] });
    const steps = [{ ...REBOOT, name: 'again' }];
    expect((await create({ planId, displayName: 'second', steps })).displayName).toBe('second');
    const seen = await v1.plans.getPlan({ planId });
    expect([seen.displayName, seen.steps.map(({ name }) => name)]).toEqual(['second', ['again']]);
  });

  test('is immutable once a run has referenced it, and the same once more is fine', async () => {
    const planId = fresh('plan');
    const plan = { planId, displayName: 'first', steps: [REBOOT] };
    const created = await create(plan);
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'reboot' } });
    const { runId } = await startRun(v1, 'REBOOT', machineId, { planId });
    for (const change of [
      { steps: [{ ...REBOOT, name: 'other' }] },
      { displayName: 'second' },
      { steps: [{ ...REBOOT, timeoutSeconds: 5 }] },
      { steps: [REBOOT, { ...REBOOT, name: 'more' }] },
    ]) {
      const error = await refusal(create({ ...plan, ...change }));
      expect(error).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'PLAN_REFERENCED',
        metadata: { plan_id: planId, operation_id: operationIdOf(runId), run_id: runId },
        violations: [{ subject: `plans/${planId}`, description: `is referenced by ${runId}` }],
      });
      expect(error.message).toContain(`${runId} and can't change any more; use a new plan_id`);
    }
    expect(await create(plan)).toEqual(created);
    expect(await v1.plans.getPlan({ planId })).toEqual(created);
    await v1.runs.cancelRun({ runId });
  });

  test('stays immutable after its run has ended', async () => {
    const { planId } = await newPlan(server, [REBOOT]);
    const machineId = await newMachine(server);
    await run(v1, 'REBOOT', machineId, { planId });
    expect((await refusal(create({ planId, steps: [{ ...REBOOT, name: 'x' }] }))).reason).toBe(
      'PLAN_REFERENCED',
    );
  });

  test('that a refused start named is not referenced', async () => {
    const { planId } = await newPlan(server, [{ name: 'join', kind: { case: 'join', value: {} } }]);
    const machineId = await newMachine(server);
    expect((await refusal(startRun(v1, 'JOIN', machineId, { planId }))).reason).toBe('NO_TARGET_CLUSTER');
    expect((await create({ planId, steps: [REBOOT] })).steps).toHaveLength(1);
  });

  test('that many create at once is stored once, and is the last of them', async () => {
    const planId = fresh('plan');
    const names = Array.from({ length: 12 }, (_, n) => `name-${n}`);
    await Promise.all(names.map((displayName) => create({ planId, displayName, steps: [REBOOT] })));
    expect(names).toContain((await v1.plans.getPlan({ planId })).displayName);
    const rows = await server.sql('SELECT 1 FROM plans WHERE plan_id = $1', [planId]);
    expect(rows).toHaveLength(1);
  });

  test('that is unknown is not found', async () => {
    expect(await refusal(v1.plans.getPlan({ planId: 'plan-none' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'PLAN_NOT_FOUND',
      metadata: { plan_id: 'plan-none' },
    });
  });
});

describe('the default plan', () => {
  test.each(RUN_TYPE_NAMES)('of %s is shown with whose it is and what it does', async (type) => {
    const designed = DEFAULT_PLANS[type];
    const plan = await v1.plans.getPlan({ planId: designed.planId });
    expect(plan).toMatchObject({ displayName: designed.displayName, defaultFor: type });
    expect(
      plan.steps.map(({ name, kind, timeoutSeconds, maxRetries }) => [
        name,
        kind.case,
        timeoutSeconds,
        maxRetries,
      ]),
    ).toEqual(
      designed.steps.map(({ name, kind, timeoutSeconds, maxRetries }) => [
        name,
        kind,
        timeoutSeconds,
        maxRetries,
      ]),
    );
    for (const [index, { config }] of designed.steps.entries())
      expect(plan.steps[index]?.kind.value).toMatchObject(config);
  });
});

describe('the list of plans', () => {
  test('begins with the default plans, and pages through all, each once', async () => {
    const own = await Promise.all(Array.from({ length: 5 }, () => newPlan(server, [REBOOT])));
    const whole = await v1.plans.listPlans({});
    expect(whole.nextPageToken).toBe('');
    expect(whole.plans.slice(0, 6).map(({ defaultFor }) => defaultFor)).toEqual(RUN_TYPE_NAMES);
    const ids = whole.plans.map(({ planId }) => planId);
    expect(ids).toEqual(expect.arrayContaining(own.map(({ planId }) => planId)));
    expect(ids.slice(6)).toEqual(ids.slice(6).toSorted());
    for (const pageSize of [1, 2, 3, 5, 6, 7, 10, 1000, 2_000_000_000]) {
      const seen: Plan[] = [];
      let pageToken = '';
      do {
        const page = await v1.plans.listPlans({ pageSize, pageToken });
        expect(page.plans.length).toBeLessThanOrEqual(pageSize);
        seen.push(...page.plans);
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(seen).toEqual(whole.plans);
    }
  });

  test('goes on where it was when plans are added in the meantime', async () => {
    const { plans, nextPageToken } = await v1.plans.listPlans({ pageSize: 8 });
    await create({ planId: '0-first-of-all', steps: [REBOOT] });
    const rest = await v1.plans.listPlans({ pageToken: nextPageToken });
    const ids = [...plans, ...rest.plans].map(({ planId }) => planId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain('0-first-of-all');
  });
});
