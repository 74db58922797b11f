/** When a command may be run again, and when an operator must inspect the host first. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleMachine } from '../../src/domain/machine/machine.fixture.ts';
import type { Memo } from '../../src/domain/operation/step.ts';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import type { StepContext, StepHandler } from '../../src/engine/step-handler.ts';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { RemoteExec } from '../../src/providers/provider.ts';
import { NO_CONTROL_PLANE } from '../../src/steps/control-plane.fixture.ts';
import { sshCommand } from '../../src/steps/host/ssh-command.ts';
import { StepRun } from '../../src/steps/step-proof.fixture.ts';
import { ended, newMachine } from '../api/fleet.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { newPlan, run, runAt, runEnded, runPhase, startRun, stepStates, v1Of, view } from './runs.ts';

/** A host that answers each command as configured, and records what it was asked. */
class Host {
  readonly asked: string[] = [];
  readonly exits: Readonly<Record<string, number>>;

  constructor(exits: Readonly<Record<string, number>> = {}) {
    this.exits = exits;
  }

  readonly exec: RemoteExec = {
    run: async (_call, { command, quiet }) => {
      this.asked.push(quiet ? `${command} (quietly)` : command);
      return { exitCode: this.exits[command] ?? 0, stdout: '' };
    },
  };
}

function handlerOn(host: Host, config: object): StepHandler<unknown> {
  return sshCommand.handler(sshCommand.config.parse(config), {
    machine: sampleMachine(),
    capabilities: { remoteExec: host.exec },
    controlPlane: NO_CONTROL_PLANE,
  });
}

function contextWith(memo: Memo, attempt = 1): StepContext & { readonly saved: Memo[] } {
  const saved: Memo[] = [];
  return {
    operationId: 'op-1',
    step: 'go',
    attempt,
    round: 0,
    fence: 1,
    memo,
    saved,
    signal: new AbortController().signal,
    log: () => {},
    save: async (next) => void saved.push(next),
    effect: (work) => work(new AbortController().signal),
    checkHeld: () => {},
    now: () => new Date(0),
  };
}

const EFFECT_UNKNOWN = { seen: 'unobservable', failure: { class: 'effect_unknown', code: 'EFFECT_UNKNOWN' } };

const UNOBSERVABLE = { seen: 'unobservable', failure: null };

describe('a command', () => {
  test('that was never started is to be run', async () => {
    for (const config of [{ command: 'go' }, { command: 'go', repeatable: true }])
      expect(await handlerOn(new Host(), config).observe(contextWith({}))).toEqual(UNOBSERVABLE);
  });

  test('that may be run only once is marked before it is run', async () => {
    const host = new Host();
    const context = contextWith({});
    expect(await handlerOn(host, { command: 'go' }).act(context)).toMatchObject({ result: 'done' });
    expect([context.saved, host.asked]).toEqual([[{ begun: 1 }], ['go']]);
  });

  test('that was started and not seen to end is left to an operator', async () => {
    const host = new Host();
    expect(await handlerOn(host, { command: 'go' }).observe(contextWith({ begun: 1 }))).toMatchObject(
      EFFECT_UNKNOWN,
    );
    expect(await handlerOn(host, { command: 'go' }).observe(contextWith({ begun: 1 }, 2))).toMatchObject(
      EFFECT_UNKNOWN,
    );
    expect(host.asked).toEqual([]);
  });

  test('that is repeatable is run again, and needs no mark', async () => {
    const host = new Host();
    const context = contextWith({ begun: 1 });
    const handler = handlerOn(host, { command: 'go', repeatable: true });
    expect(await handler.observe(context)).toEqual(UNOBSERVABLE);
    await handler.act(context);
    expect([context.saved, host.asked]).toEqual([[], ['go']]);
  });

  test('whose check passes is done, and is not run', async () => {
    const host = new Host();
    const handler = handlerOn(host, { command: 'go', check: 'is it done' });
    expect(await handler.observe(contextWith({ begun: 1 }))).toMatchObject({ seen: 'done' });
    expect(host.asked).toEqual(['is it done (quietly)']);
  });

  test('whose check does not pass is run, also after an interruption: the check has seen the host', async () => {
    const host = new Host({ 'is it done': 1 });
    const handler = handlerOn(host, { command: 'go', check: 'is it done' });
    expect(await handler.observe(contextWith({ begun: 1 }))).toEqual({ seen: 'absent' });
    const context = contextWith({});
    expect(await handler.act(context)).toMatchObject({ result: 'done' });
    expect(context.saved).toEqual([]);
  });

  test('that fails says with which code, and may be tried again', async () => {
    const host = new Host({ go: 3 });
    expect(await handlerOn(host, { command: 'go' }).act(contextWith({}))).toEqual({
      result: 'failed',
      failure: { class: 'retryable', code: 'COMMAND_FAILED', message: 'the command exited with 3' },
    });
  });
});

describe('a holder that dies', () => {
  const scenario = (config: object) =>
    ({ kind: 'ssh', config: { command: 'go', ...config }, stepMs: 0 }) as const;

  /** After a crash between the mark of the start and the record of the end, it is unknown what the command did. */
  async function endsAfterDeathAtEachPoint(config: object): Promise<Set<string>> {
    const undisturbed = new StepRun(scenario(config));
    await undisturbed.toTheEnd();
    const ends = new Set<string>();
    for (let dieAt = 0; dieAt < undisturbed.points; dieAt += 1) {
      const { status, error } = await new StepRun(scenario(config), { dieAt }).toTheEnd();
      ends.add(`${status} ${error ?? ''}`.trim());
    }
    return ends;
  }

  test('in a command that may be repeated does no harm', async () => {
    expect(await endsAfterDeathAtEachPoint({ repeatable: true })).toEqual(new Set(['completed']));
  });

  test('in a command that has a check does no harm', async () => {
    expect(await endsAfterDeathAtEachPoint({ check: 'true' })).toEqual(new Set(['completed']));
  });

  test('in any other command leaves the decision to an operator', async () => {
    expect(await endsAfterDeathAtEachPoint({})).toEqual(
      new Set(['completed', 'failed_manual_intervention EFFECT_UNKNOWN']),
    );
  });
});

describe('a server that stops in the middle of a command', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database?.drop());

  test('leaves what may be repeated to the next one, and what may not to a person', async () => {
    const leaving = await startTestServer({ database });
    const value = { command: 'dangerous' };
    const once = await newPlan(leaving, [
      { name: 'go', kind: { case: 'ssh', value } },
      { name: 'after', kind: { case: 'reboot', value: {} } },
    ]);
    const often = await newPlan(leaving, [
      { name: 'go', kind: { case: 'ssh', value: { ...value, repeatable: true } } },
    ]);
    const started = [];
    for (const { planId } of [once, often]) {
      const machineId = await newMachine(leaving, { labels: { 'fake/hang-step': 'go' } });
      const { runId } = await startRun(v1Of(leaving), 'REBOOT', machineId, { planId });
      await runAt(v1Of(leaving), { runId }, 'go');
      started.push({ machineId, runId });
    }
    // Until the command has really been sent.
    await until(
      async () =>
        (await leaving.sql(`SELECT 1 FROM fake_machines WHERE state -> 'task' ->> 'kind' = 'exec'`))
          .length === 2,
    );
    await leaving.stop();

    const next = await startTestServer({ database });
    const v1 = v1Of(next);
    const [first, second] = started;
    const parked = await runEnded(v1, { runId: first?.runId ?? '' });
    expect([runPhase(parked), stepStates(parked)]).toEqual(['FAILED', ['FAILED', 'WAITING']]);
    expect(parked.error).toMatchObject({
      code: 'EFFECT_UNKNOWN',
      retryable: false,
      details: { step: 'go', failure_class: 'effect_unknown' },
    });
    expect((await next.operations.getOperation({ operationId: parked.runId })).status).toBe(
      'failed_manual_intervention',
    );
    expect(await view(v1, first?.machineId ?? '')).toMatchObject({
      phase: 'MAINTENANCE',
      banners: ['NeedsIntervention'],
    });
    // Its command hangs on the fake host as it did; that it is being worked on is what counts.
    const going = await v1.runs.getRun({ runId: second?.runId ?? '' });
    expect([runPhase(going), going.currentStep]).toEqual(['RUNNING', 'go']);
    await v1.runs.cancelRun({ runId: going.runId });
    await runEnded(v1, going);
    const free = await newMachine(next);
    expect(runPhase(await run(v1, 'REBOOT', free, { planId: often.planId }))).toBe('SUCCEEDED');
    await next.stop();
  });
});

describe('a command whose outcome is not known', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server?.stop());

  const act = (operationId: string, action: OperatorAction_Value, reason: string) =>
    server.admin.actOnOperation({ operationId, action, reason });

  /** Ran into its limit, so its end was not seen. */
  async function unknown() {
    const { planId } = await newPlan(server, [
      {
        name: 'go',
        kind: { case: 'ssh', value: { command: 'dangerous' } },
        timeoutSeconds: 1,
        maxRetries: 1,
      },
      { name: 'after', kind: { case: 'reboot', value: {} } },
    ]);
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'go' } });
    const parked = await run(v1Of(server), 'REPAVE', machineId, { planId });
    expect(parked.error).toMatchObject({
      code: 'EFFECT_UNKNOWN',
      details: { failure_class: 'effect_unknown' },
    });
    await server.machines.registerMachine({ machine: { machineId, labels: { 'fake/step-ms': '1' } } });
    return { operationId: operationIdOf(parked.runId), machineId };
  }

  const commandsSent = async (operationId: string) => {
    const lines: string[] = [];
    for await (const { data } of server.operations.streamOperationLogs({ operationId }))
      lines.push(Buffer.from(data).toString('utf8').trim());
    return lines.filter((line) => line === '$ dangerous').length;
  };

  test('is done when an operator says so: the claim is recorded, and the command is not run again', async () => {
    const { operationId } = await unknown();
    expect(await refusal(act(operationId, OperatorAction_Value.ADOPT_OBSERVED_STATE, ' '))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field: 'reason' }],
    });
    await act(operationId, OperatorAction_Value.ADOPT_OBSERVED_STATE, 'the disk is wiped, I inspected it');
    const adopted = await ended(server, { operationId });
    expect(adopted.status).toBe('reconciled');
    const message = 'claimed done by admin:admin: the disk is wiped, I inspected it';
    expect(adopted.steps.map((step) => step.message)[0]).toBe(message);
    const [event] = await server.sql(
      `SELECT comment, metadata -> 'claim' AS claim FROM events
       WHERE operation_id = $1 AND kind = 'step' AND subject = 'go' AND to_state = 'succeeded'`,
      [operationId],
    );
    expect(event).toEqual({
      comment: message,
      claim: { by: 'admin:admin', reason: 'the disk is wiped, I inspected it' },
    });
    expect(await commandsSent(operationId)).toBe(1);
  });

  test('is run again when an operator retries the stage', async () => {
    const { operationId } = await unknown();
    await act(operationId, OperatorAction_Value.RETRY_STAGE, 'it was never run');
    const retried = await ended(server, { operationId });
    expect([retried.status, retried.steps[0]?.message]).toEqual(['completed', 'the command exited with 0']);
    expect(await commandsSent(operationId)).toBe(2);
  });
});
