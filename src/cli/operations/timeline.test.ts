import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { OperationSchema, StepStatus_State as State } from '../../gen/baremetal/v2/operation_pb.ts';
import { CatchUp, StepChanges, Timeline, type TimelineEntry } from './timeline.ts';
import { operationView } from './v2-operations.ts';

const ms = (at: number) => timestampFromMs(at);

function operation(state: State, more: { progressPercent?: number; retryCount?: number } = {}) {
  const ended = state > State.RUNNING ? { finishedAt: ms(200) } : {};
  const started = state > State.WAITING ? { startedAt: ms(100) } : {};
  return operationView(
    create(OperationSchema, { steps: [{ name: 'repave', state, ...started, ...ended, ...more }] }),
  );
}

const kinds = (entries: readonly TimelineEntry[]) => entries.map(({ kind, at }) => `${kind}@${at}`);

describe('the changes of a step', () => {
  it('are reported once each', () => {
    const changes = new StepChanges();
    expect(kinds(changes.since(operation(State.WAITING), 50))).toEqual([]);
    expect(kinds(changes.since(operation(State.RUNNING), 110))).toEqual(['step-started@100']);
    expect(kinds(changes.since(operation(State.RUNNING), 120))).toEqual([]);
    expect(kinds(changes.since(operation(State.RUNNING, { progressPercent: 45 }), 130))).toEqual([
      'step-progressed@130',
    ]);
    expect(
      kinds(changes.since(operation(State.RUNNING, { progressPercent: 45, retryCount: 1 }), 140)),
    ).toEqual(['step-retried@140']);
    expect(kinds(changes.since(operation(State.SUCCEEDED, { retryCount: 1 }), 210))).toEqual([
      'step-ended@200',
    ]);
    expect(kinds(changes.since(operation(State.SUCCEEDED, { retryCount: 1 }), 220))).toEqual([]);
  });

  it('of a step that was not seen starting include its start', () => {
    expect(kinds(new StepChanges().since(operation(State.FAILED), 300))).toEqual([
      'step-started@100',
      'step-ended@200',
    ]);
  });

  it('start again after a rerun', () => {
    const changes = new StepChanges();
    changes.since(operation(State.FAILED), 300);
    expect(kinds(changes.since(operation(State.WAITING), 400))).toEqual([]);
    expect(kinds(changes.since(operation(State.RUNNING), 500))).toEqual(['step-started@100']);
  });
});

describe('catching up with a log', () => {
  const past = { startedAt: ms(0) };

  it('is over when the log is idle', () => {
    const joined = new CatchUp(1000);
    joined.watchReceived(past);
    joined.logReceived(1050);
    joined.logReceived(1120);
    expect([1150, 1219, 1220].map((at) => joined.isOver(at))).toEqual([false, false, true]);
  });

  it('waits for both streams, and not for long', () => {
    const logOnly = new CatchUp(1000);
    logOnly.logReceived(1000);
    const watchOnly = new CatchUp(1000);
    watchOnly.watchReceived(past);
    for (const joined of [logOnly, watchOnly])
      expect([1500, 1999, 2000].map((at) => joined.isOver(at))).toEqual([false, false, true]);
  });

  it('has nothing to wait for when the operation has not started', () => {
    const joined = new CatchUp(1000);
    joined.watchReceived({});
    joined.watchReceived(past);
    expect(joined.isOver(1000)).toBe(true);
  });
});

describe('a timeline', () => {
  const log = (at: number): TimelineEntry => ({ kind: 'log', stepName: 'repave', text: '', index: 0, at });

  it('has the order in which things happened, not in which they arrived', () => {
    const timeline = new Timeline();
    timeline.add([log(30), log(10)], 1000);
    timeline.add([log(20)], 1050);
    timeline.add([log(40)], 1050);
    expect(timeline.takeDue(1099)).toEqual([]);
    expect(kinds(timeline.takeDue(1100))).toEqual(['log@10', 'log@20', 'log@30']);
    expect(kinds(timeline.takeAll())).toEqual(['log@40']);
    expect(timeline.takeAll()).toEqual([]);
  });

  it('ends one step before the next starts, though both have the same time', () => {
    const steps = [
      { name: 'repave', state: State.SUCCEEDED, startedAt: ms(100), finishedAt: ms(200) },
      { name: 'verify', state: State.RUNNING, startedAt: ms(200) },
    ];
    const timeline = new Timeline();
    timeline.add(new StepChanges().since(operationView(create(OperationSchema, { steps })), 300), 0);
    expect(
      timeline.takeAll().map((entry) => ('step' in entry ? `${entry.kind} ${entry.step.name}` : '')),
    ).toEqual(['step-started repave', 'step-ended repave', 'step-started verify']);
  });

  it('has the start of a step before its lines, and its end after them', () => {
    const timeline = new Timeline();
    const changes = new StepChanges().since(operation(State.SUCCEEDED), 300);
    timeline.add([...changes].reverse(), 0);
    timeline.add([log(100), log(200)], 0);
    expect(kinds(timeline.takeAll())).toEqual(['step-started@100', 'log@100', 'log@200', 'step-ended@200']);
  });
});
