import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { OperationSchema, StepStatus_State as State } from '../../gen/baremetal/v2/operation_pb.ts';
import { workOfOperation } from '../work/operations.ts';
import { CatchingUp, StepChanges, Story, type StoryEntry } from './story.ts';

const ms = (at: number) => timestampFromMs(at);

function operation(state: State, more: { progressPercent?: number; retryCount?: number } = {}) {
  const ended = state > State.RUNNING ? { finishedAt: ms(200) } : {};
  const started = state > State.WAITING ? { startedAt: ms(100) } : {};
  return workOfOperation(
    create(OperationSchema, { steps: [{ name: 'repave', state, ...started, ...ended, ...more }] }),
  );
}

const kinds = (entries: readonly StoryEntry[]) => entries.map(({ kind, at }) => `${kind}@${at}`);

describe('the changes of a step', () => {
  it('are told once each', () => {
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

  it('that nobody saw begin are told from the beginning', () => {
    expect(kinds(new StepChanges().since(operation(State.FAILED), 300))).toEqual([
      'step-started@100',
      'step-ended@200',
    ]);
  });

  it('begin again after a rerun', () => {
    const changes = new StepChanges();
    changes.since(operation(State.FAILED), 300);
    expect(kinds(changes.since(operation(State.WAITING), 400))).toEqual([]);
    expect(kinds(changes.since(operation(State.RUNNING), 500))).toEqual(['step-started@100']);
  });
});

describe('catching up with a log', () => {
  const past = { startedAt: ms(0) };

  it('is over when the log has fallen quiet', () => {
    const joined = new CatchingUp(1000);
    joined.see(past);
    joined.hear(1050);
    joined.hear(1120);
    expect([1150, 1219, 1220].map((at) => joined.isOver(at))).toEqual([false, false, true]);
  });

  it('waits for both streams, and not for long', () => {
    const logOnly = new CatchingUp(1000);
    logOnly.hear(1000);
    const watchOnly = new CatchingUp(1000);
    watchOnly.see(past);
    for (const joined of [logOnly, watchOnly])
      expect([1500, 1999, 2000].map((at) => joined.isOver(at))).toEqual([false, false, true]);
  });

  it('has nothing to wait for when the work has not begun', () => {
    const joined = new CatchingUp(1000);
    joined.see({});
    joined.see(past);
    expect(joined.isOver(1000)).toBe(true);
  });
});

describe('a story', () => {
  const log = (at: number): StoryEntry => ({ kind: 'log', stepName: 'repave', text: '', index: 0, at });

  it('is told in the order in which things happened, not in which they arrived', () => {
    const story = new Story();
    story.add([log(30), log(10)], 1000);
    story.add([log(20)], 1050);
    story.add([log(40)], 1050);
    expect(story.due(1099)).toEqual([]);
    expect(kinds(story.due(1100))).toEqual(['log@10', 'log@20', 'log@30']);
    expect(kinds(story.rest())).toEqual(['log@40']);
    expect(story.rest()).toEqual([]);
  });

  it('ends one step before the next begins, though both happen in the same instant', () => {
    const steps = [
      { name: 'repave', state: State.SUCCEEDED, startedAt: ms(100), finishedAt: ms(200) },
      { name: 'verify', state: State.RUNNING, startedAt: ms(200) },
    ];
    const story = new Story();
    story.add(new StepChanges().since(workOfOperation(create(OperationSchema, { steps })), 300), 0);
    expect(story.rest().map((entry) => ('step' in entry ? `${entry.kind} ${entry.step.name}` : ''))).toEqual([
      'step-started repave',
      'step-ended repave',
      'step-started verify',
    ]);
  });

  it('tells the start of a step before its lines, and its end after them', () => {
    const story = new Story();
    const changes = new StepChanges().since(operation(State.SUCCEEDED), 300);
    story.add([...changes].reverse(), 0);
    story.add([log(100), log(200)], 0);
    expect(kinds(story.rest())).toEqual(['step-started@100', 'log@100', 'log@200', 'step-ended@200']);
  });
});
