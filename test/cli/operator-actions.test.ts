/** Workflows and operator actions in the CLI (docs/maas.md, docs/operator-actions.md). */
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it } from 'vitest';
import { FAILURES } from '../../src/domain/error/failure-code.ts';
import { OPERATOR_ACTIONS } from '../../src/domain/operation/operator-action.ts';
import { DECOMMISSION_MODE_NAMES } from '../../src/domain/workflow/stage.ts';
import {
  DecommissionMode_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import {
  ErrorStatusSchema,
  Operation_Phase,
  OperationType,
  StepStatus_State,
  StepStatusSchema,
} from '../../src/gen/baremetal/v2/operation_pb.ts';
import { until } from '../parts/until.ts';
import { at, START, WireFault } from './fake-server.ts';
import { useFakeServer } from './harness.ts';
import { begin, end } from './play.ts';

const cli = useFakeServer();
/** A command line that says too little is not even sent. */
const USAGE = 64;
const now = () => START + 3 * 60 * 60 * 1000;
const requests = (method: string) =>
  cli.fleet.calls.filter((call) => call.method === method).map(({ request }) => request);

beforeEach(() => {
  cli.fleet.addMachine({
    machineId: 'gpu-1',
    status: {
      service: 'enrolling',
      observed: { source: 'site-a', state: 'Ready', power: 'off', at: at(60) },
    },
  });
  cli.fleet.addMachine({ machineId: 'gpu-2', status: { service: 'active' } });
  cli.fleet.nextOperationIds = ['op-1'];
});

/** An onboarding that came to its third stage and failed there. */
function failedOnboarding(failureClass: string, status = 'failed_manual_intervention'): void {
  cli.fleet.start(OperationType.ONBOARD, { machineId: 'gpu-1', requestId: 'r1' });
  const step = (name: string, state: StepStatus_State, retryCount = 0) =>
    create(StepStatusSchema, { name, kind: 'stage', state, retryCount, maxRetries: 3 });
  const message = 'eth0 stays dhcp';
  const details = { failure_class: failureClass, step: 'ensure_pxe_interface_auto' };
  cli.fleet.change('op-1', {
    status,
    phase: Operation_Phase.FAILED,
    finishedAt: at(90),
    steps: [
      step('load_site_config', StepStatus_State.SUCCEEDED),
      step('ensure_pxe_interface_auto', StepStatus_State.FAILED, 2),
    ],
    error: create(ErrorStatusSchema, { code: 'PXE_NOT_FIXABLE', message, details }),
  });
}

describe('op', () => {
  const VERBS = {
    'retry-stage': 'RETRY_STAGE',
    resume: 'RESUME',
    rerun: 'RERUN',
    'restart-clean': 'RESTART_CLEAN',
    adopt: 'ADOPT_OBSERVED_STATE',
    hold: 'MARK_MANUAL_INTERVENTION_REQUIRED',
  } as const satisfies Record<string, keyof typeof OperatorAction_Value>;

  it.each(Object.entries(VERBS))('%s asks for %s, with the reason', async (verb, action) => {
    failedOnboarding('needs_human');
    expect(await cli.run(`op ${verb} op-1 --reason "the switch was fixed"`)).toEqual({
      code: 0,
      stdout: 'Operation: op-1 FAILED (failed_manual_intervention)\n',
      stderr: '',
    });
    expect(requests('actOnOperation')).toMatchObject([
      { operationId: 'op-1', action: OperatorAction_Value[action], reason: 'the switch was fixed' },
    ]);
  });

  it.each(Object.keys(VERBS))('%s without a reason, or without an operation, sends nothing', async (verb) => {
    const { code, stderr } = await cli.run(`op ${verb} op-1`);
    expect([code, stderr]).toEqual([USAGE, expect.stringContaining('--reason')]);
    expect((await cli.run(`op ${verb} --reason why`)).code).toBe(USAGE);
    expect(cli.fleet.calls).toEqual([]);
  });

  it.each(['cancel', 'op cancel'])('%s gives up what has failed, with a reason', async (command) => {
    failedOnboarding('needs_human');
    cli.fleet.onCall = (method) => {
      if (method === 'cancelOperation')
        throw new WireFault(status.FAILED_PRECONDITION, 'op-1 is over', { reason: 'OPERATION_FINISHED' });
    };
    expect(await cli.run(`${command} op-1`)).toMatchObject({ code: 5 });
    expect(requests('actOnOperation')).toEqual([]);
    await cli.run(`${command} op-1 --reason "wrong rack" --no-wait`);
    expect(requests('actOnOperation')).toMatchObject([
      { operationId: 'op-1', action: OperatorAction_Value.CANCEL, reason: 'wrong rack' },
    ]);
  });

  it.each(['cancel', 'op cancel'])('%s of what is active needs no reason', async (command) => {
    cli.fleet.start(OperationType.ONBOARD, { machineId: 'gpu-1', requestId: 'r1' });
    expect((await cli.run(`${command} op-1 --no-wait`)).code).toBe(0);
    expect(requests('cancelOperation')).toMatchObject([{ operationId: 'op-1', reason: '' }]);
    expect(requests('actOnOperation')).toEqual([]);
  });

  it('gives the operation as data', async () => {
    failedOnboarding('needs_human');
    const { stdout } = await cli.run('op resume op-1 --reason why -o json');
    expect(JSON.parse(stdout)).toMatchObject({
      operation_id: 'op-1',
      type: 'ONBOARD',
      status: 'failed_manual_intervention',
    });
    expect((await cli.run('op hold op-1 --reason why -o name')).stdout).toBe('op-1\n');
  });

  it('that does not exist exits as everything that fails', async () => {
    expect(await cli.run('op resume op-9 --reason why')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('operation op-9 not found'),
    });
  });
});

describe('op show', () => {
  it('is the detail view: workflow state, stage, attempts, failure class, observed state, what to do', async () => {
    failedOnboarding('needs_human');
    const { stdout } = await cli.run('op show op-1', { now });
    expect(stdout).toContain('Error:        eth0 stays dhcp [PXE_NOT_FIXABLE]\n');
    expect(stdout).toMatch(/^ensure_pxe_interface_auto {2}stage {2}FAILED +0% +2\/3 /m);
    expect(stdout.slice(stdout.indexOf('\nWorkflow:'))).toBe(`
Workflow:      failed_manual_intervention
Failure class: needs_human
Observed:      Ready (site-a, power off, 2026-01-30T10:01:00Z)
What happened: the boot interface is missing in the MAAS, or does not stay AUTO
Check:         inspect the cabling and the interfaces of the machine in the MAAS
Who:           site
Next:          retry the stage: ingot op retry-stage op-1 --reason "…"
`);
  });

  it('lists the operator actions: time, actor, action and reason', async () => {
    failedOnboarding('needs_human');
    expect((await cli.run('op show op-1')).stdout).not.toContain('ACTION');
    const by = { actor: 'operator:ann', fromStatus: 'failed_retryable' };
    cli.fleet.actions = [
      { ...by, at: at(100), action: 'resume', reason: 'the cable was loose', toStatus: 'pending' },
      { ...by, at: at(200), action: 'cancel', reason: '\u001b[2Jgone', toStatus: 'compensating' },
    ];
    const { stdout } = await cli.run('op show op-1');
    expect(stdout).toMatch(
      /^2026-01-30T10:01:40Z +operator:ann +resume +failed_retryable → pending +the cable was loose$/m,
    );
    expect(stdout).toMatch(/ cancel +failed_retryable → compensating .*gone$/m);
    expect(stdout).not.toContain('\u001b');
  });

  it('gives the advice of the table for every failure code', { tags: ['extended'] }, async () => {
    failedOnboarding('needs_human');
    for (const [code, { whatHappened, check, who, action }] of Object.entries(FAILURES)) {
      const error = create(ErrorStatusSchema, { code, details: { failure_class: 'needs_human' } });
      cli.fleet.change('op-1', { error });
      const { advice, verb } = OPERATOR_ACTIONS[action];
      expect((await cli.run('op show op-1')).stdout).toContain(`
What happened: ${whatHappened}
Check:         ${check}
Who:           ${who}
Next:          ${advice}: ingot op ${verb} op-1 --reason "…"
`);
    }
  });

  it('recommends nothing while the operation runs, and shows no observed state if there is none', async () => {
    cli.fleet.start(OperationType.DRAIN, { machineId: 'gpu-2', requestId: 'r1' });
    cli.fleet.change('op-1', { status: 'running', phase: Operation_Phase.RUNNING });
    const { stdout } = await cli.run('op show op-1');
    expect(stdout).toContain('Next:          wait: it is running\n');
    expect(stdout).not.toContain('Observed:');
    expect(stdout).not.toContain('Failure class:');
  });

  it('reads the machine only in the formats for people', async () => {
    failedOnboarding('needs_human');
    await cli.run('op show op-1 -o json');
    expect(requests('getMachine')).toEqual([]);
    expect(requests('listOperatorActions')).toEqual([]);
  });
});

describe('explain', () => {
  it('says what is in the way, what unblocks it, who must act and how', async () => {
    cli.fleet.explanation = {
      summary: 'gpu-1 is not in service: its agent is lost.',
      obstacles: [
        { what: 'its agent is lost', unblock: 'bring it back', who: 'site', command: 'show gpu-1' },
        { what: 'it is old', unblock: 'nothing does', who: 'admin' },
      ],
    };
    expect(await cli.run('explain gpu-1')).toEqual({
      code: 0,
      stdout: `\
gpu-1 is not in service: its agent is lost.

What:     its agent is lost
Unblock:  bring it back
Who:      site
Command:  ingot show gpu-1

What:     it is old
Unblock:  nothing does
Who:      admin
`,
      stderr: '',
    });
    expect(JSON.parse((await cli.run('explain gpu-1 -o json')).stdout)).toMatchObject({
      obstacles: [{ who: 'site', command: 'show gpu-1' }, { who: 'admin' }],
    });
  });

  it('says what the upstream says, since when, when it was seen, and why that does not fit', async () => {
    cli.fleet.explanation = {
      summary: 'gpu-1 is not in service.',
      obstacles: [],
      upstream: {
        ...{ source: 'site-a', state: 'Broken', power: 'off', upstreamId: 'abc123' },
        since: at(-3600),
        seenAt: at(-30),
        expected: ['Deployed'],
        disagreement: 'site-a says Broken, and a node that is active should be Deployed',
      },
    };
    const { stdout } = await cli.run('explain gpu-1');
    expect(stdout).toMatch(/^Upstream: site-a reports Broken \(power off, id abc123\)$/m);
    expect(stdout).toMatch(/^Since: {4}\S+/m);
    expect(stdout).toMatch(/^Seen: {5}.* ago\)$/m);
    expect(stdout).toMatch(/^Drift: {4}site-a says Broken, and a node that is active should be Deployed$/m);
    expect(stdout).not.toContain('Forced:');
    const shown = (await cli.run('show gpu-1')).stdout;
    expect(shown).toMatch(/^Upstream: {11}site-a reports Broken \(power off, id abc123\)$/m);
    expect(shown).toMatch(/^Seen: {15}.* ago\)$/m);
    expect(shown).toMatch(/^Drift: {14}site-a says Broken, and a node that is active should be Deployed$/m);
    expect(shown).toMatch(/^Explained: {10}gpu-1 is not in service\.$/m);
    // A machine without an upstream is not asked about.
    cli.fleet.calls.length = 0;
    expect((await cli.run('show gpu-2')).stdout).not.toContain('Upstream:');
    expect(requests('explainMachine')).toEqual([]);
  });

  it('lets no machine write to the terminal', async () => {
    cli.fleet.explanation = { summary: 'gpu-1 said \u001b[2J', obstacles: [] };
    expect((await cli.run('explain gpu-1')).stdout).not.toContain('\u001b');
  });

  it('of an unknown machine fails', async () => {
    expect(await cli.run('explain gpu-9')).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('into service and out of it', () => {
  const same = { machineId: 'gpu-1', requestId: 'made-up-id' };

  it.each<readonly [line: string, method: string, request: object]>([
    ['onboard gpu-1 --pool gpu', 'onboardMachine', { ...same, pool: 'gpu' }],
    ['drain gpu-1', 'drainMachine', same],
    ['remove gpu-1', 'removeMachine', same],
    ...DECOMMISSION_MODE_NAMES.map(
      (mode) =>
        [
          `decommission gpu-1 --mode ${mode}`,
          'decommissionMachine',
          {
            ...same,
            mode: DecommissionMode_Value[mode.toUpperCase() as keyof typeof DecommissionMode_Value],
          },
        ] as const,
    ),
  ])('%s calls %s', async (line, method, request) => {
    expect(await cli.run(`${line} --no-wait`)).toMatchObject({
      code: 0,
      stdout: 'Operation: op-1 PENDING\n',
    });
    expect(requests(method)).toMatchObject([request]);
  });

  it.each(['onboard gpu-1', 'decommission gpu-1', 'decommission gpu-1 --mode gently', 'drain', 'remove'])(
    '%s is not enough',
    async (line) => {
      expect((await cli.run(line)).code).toBe(USAGE);
      expect(cli.fleet.calls).toEqual([]);
    },
  );

  it('waits for the end, and the exit code is the outcome', async () => {
    const running = cli.launch('drain gpu-1 -q');
    await until(() => requests('watchOperations').length > 0);
    begin(cli.fleet, 'op-1');
    end(cli.fleet, 'op-1', Operation_Phase.FAILED, 3);
    expect((await running.ended).code).toBe(1);
  });

  it.each(['onboard --pool gpu', 'decommission --mode soft_reset', 'remove'])(
    '%s of several asks first, and does nothing on a no',
    async (line) => {
      const [verb, ...options] = line.split(' ');
      const several = `${verb} gpu-1 gpu-2 ${options.join(' ')}`;
      const declined = await cli.run(several, { isTerminal: true, answer: 'n\n' });
      expect(declined).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing was done') });
      expect(cli.fleet.operations.size).toBe(0);
      expect((await cli.run(`${several} --yes --no-wait`)).code).toBe(0);
      expect(cli.fleet.operations.size).toBe(2);
    },
  );

  it('prints the command that repeats the request safely', async () => {
    cli.server.stop();
    const { stderr } = await cli.run('decommission gpu-1 --mode reimage --no-wait');
    expect(stderr).toContain(
      'retry safely: ingot decommission gpu-1 --mode reimage --request-id=made-up-id\n',
    );
  });
});

describe('service', () => {
  it('sets a state, with the reason', async () => {
    expect((await cli.run('service gpu-2 active --reason "inspected it" -o name')).stdout).toBe('gpu-2\n');
    expect(requests('setServiceState')).toMatchObject([
      { machineId: 'gpu-2', service: 'active', reason: 'inspected it' },
    ]);
  });

  it('forces it against the upstream, with the reason', async () => {
    await cli.run('service gpu-2 active --force --reason "proven healthy"');
    expect(requests('setServiceState')).toMatchObject([
      { machineId: 'gpu-2', service: 'active', reason: 'proven healthy', force: true },
    ]);
    expect((await cli.run('service gpu-2 active --force')).code).toBe(USAGE);
  });

  it.each(['service gpu-2 active', 'service gpu-2 --reason why', 'service gpu-2 draining --reason why'])(
    '%s is refused here already',
    async (line) => {
      expect((await cli.run(line)).code).toBe(USAGE);
      expect(cli.fleet.calls).toEqual([]);
    },
  );
});
