import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setUpFakeTimers } from '../../test/parts/fake-timers.ts';
import { Device, forever, untilStopped } from './device.fixture.ts';
import { Dispatcher } from './dispatcher.ts';
import { CANCEL, START, sampleJob, sampleStep } from './job.fixture.ts';
import type { Job } from './job.ts';
import { LEASE_MS, MAX_DEATHS, toolsFor } from './job-holder.fixture.ts';
import { StoreAway } from './job-store.ts';
import { MemoryJobStore, type StoreCall } from './memory-job-store.fixture.ts';
import type { StepHandler } from './step-handler.ts';

const POLL_MS = 1_000;
const GRACE_MS = 8_000;

let store: MemoryJobStore<string>;
let device: Device;
let replicas: Replica[];

class Replica {
  readonly errors: string[] = [];
  readonly lost: string[] = [];
  readonly dispatcher: Dispatcher<string>;

  constructor(owner: string, handler: StepHandler<string> = device.handler, maxInHand = 4) {
    const onUnexpected = (error: unknown) => this.errors.push(String(error));
    this.dispatcher = new Dispatcher({
      instantEnd: (step) => (step.kind === 'instant' ? { message: '', change: `${step.name} done` } : null),
      ...toolsFor(store, handler, { owner, canUndo: () => true, onUnexpected }),
      leaseMs: LEASE_MS,
      maxInHand,
      pollMs: POLL_MS,
      maxLogBytes: 1_000,
      monotonicNow: () => performance.now(),
      watch: {
        passed: () => {},
        failed: (loop, error) => this.errors.push(`${loop}: ${(error as Error).message}`),
      },
      onError: (error, during) => this.errors.push(`${during}: ${(error as Error).message}`),
      onLeaseLost: (jobId) => this.lost.push(jobId),
    });
    this.dispatcher.start();
    replicas.push(this);
  }

  /** From the call until everything that it waits for is over. */
  async stop(): Promise<void> {
    const stopped = this.dispatcher.stop(GRACE_MS);
    await advance(GRACE_MS);
    await stopped;
  }
}

setUpFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
beforeEach(() => {
  store = new MemoryJobStore(Date.now);
  device = new Device();
  replicas = [];
});
afterEach(async () => {
  store.before = () => {};
  for (const replica of replicas) await replica.stop();
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
});

class Away extends StoreAway {}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const add = (...ids: string[]) => {
  for (const id of ids) store.add(sampleJob({ id }));
};
const statuses = (...ids: string[]) => ids.map((id) => store.job(id).status);
const failing = (...calls: StoreCall[]) => {
  store.before = (call) => {
    if (calls.includes(call)) throw new Away('the database is away');
  };
};

/** Under way until a time, probed every second. */
const busyUntil = (ms: number): StepHandler<string> => ({
  ...device.handler,
  observe: async (context) => {
    device.trace.push('observe');
    if (context.now().getTime() >= START.getTime() + ms) return { seen: 'done', message: '' };
    return { seen: 'under_way', reason: 'it boots', pollAfterMs: 3_000 };
  },
});

/** Creates jobs as the store does in the transaction of a start; those that are not claimed stay pending. */
const create = ({ dispatcher }: Replica, jobs: readonly Job[]) => {
  const claim = dispatcher.claimsAtStart.open();
  for (const job of jobs) {
    const move = claim.claim({ ...job, epoch: 1 }, new Date());
    if (!move) store.add(job);
    else if (move.releaseForMs === null) store.addHeld(move.job, dispatcher.claimsAtStart);
    else store.add(move.job);
  }
  return claim;
};

describe('a start', () => {
  it('claims what it creates, and runs it when it is committed', async () => {
    const replica = new Replica('a');
    await advance(10);
    failing('claim');
    const claim = create(replica, [sampleJob()]);
    await advance(10);
    expect([statuses('job-1'), device.trace]).toEqual([['running'], []]);
    claim.committed(new Date());
    await advance(10);
    expect([statuses('job-1'), replica.dispatcher.heldJobCount, replica.errors]).toEqual([
      ['completed'],
      0,
      [],
    ]);
  });

  it('ends a job whose steps are all instant, also where there is no room', async () => {
    const replica = new Replica('a', busyUntil(60_000), 0);
    await advance(10);
    create(replica, [sampleJob({ steps: [sampleStep({ kind: 'instant' })] })]).committed(new Date());
    expect(statuses('job-1')).toEqual(['completed']);
  });

  it('claims no more than there is room for, counting what is not committed yet', async () => {
    const replica = new Replica('a', device.handler, 2);
    await advance(10);
    const ids = ['job-1', 'job-2', 'job-3'];
    const first = create(
      replica,
      ids.map((id) => sampleJob({ id })),
    );
    expect(statuses(...ids)).toEqual(['running', 'running', 'pending']);
    const second = create(replica, [sampleJob({ id: 'job-4' })]);
    expect(statuses('job-4')).toEqual(['pending']);
    first.committed(new Date());
    second.committed(new Date());
    replica.dispatcher.wake();
    await advance(10);
    expect(statuses(...ids, 'job-4')).toEqual(['completed', 'completed', 'completed', 'completed']);
  });

  it('claims four times as many while passes are brief', async () => {
    const brief = Array.from({ length: 100 }, (_, number) => `brief-${number}`);
    add(...brief);
    let holds = false;
    const handler: StepHandler<string> = {
      ...device.handler,
      observe: (context) => (holds ? untilStopped(context) : device.handler.observe(context)),
    };
    const replica = new Replica('a', handler, 2);
    await advance(1_000);
    expect(new Set(statuses(...brief))).toEqual(new Set(['completed']));
    holds = true;
    device.trace.length = 0;
    const ids = Array.from({ length: 10 }, (_, number) => `job-${number}`);
    create(
      replica,
      ids.map((id) => sampleJob({ id })),
    ).committed(new Date());
    const claimed = statuses(...ids).filter((status) => status === 'running');
    expect(claimed).toHaveLength(8);
  });

  it('overtakes nothing that is due and was not claimed for want of room', async () => {
    const hold: StepHandler<string> = { ...device.handler, observe: untilStopped };
    add('job-1', 'job-2');
    const replica = new Replica('a', hold, 1);
    await advance(300);
    create(replica, [sampleJob({ id: 'job-3' })]).committed(new Date());
    expect(statuses('job-1', 'job-2', 'job-3')).toEqual(['running', 'pending', 'pending']);
  });

  it('whose commit was not answered is released at once, and those under way are not', async () => {
    const replica = new Replica('a');
    await advance(10);
    const underWay = create(replica, [sampleJob({ id: 'job-2' })]);
    create(replica, [sampleJob({ id: 'job-1' })]).failed(new Away('no answer'));
    await advance(50);
    expect(statuses('job-1', 'job-2')).toEqual(['completed', 'running']);
    expect(store.ownerOf('job-2')).toBe('a');
    underWay.committed(new Date());
    await advance(10);
    expect([statuses('job-2'), replica.lost]).toEqual([['completed'], []]);
  });

  it('claims nothing while the replica stops or its store fails', async () => {
    const replica = new Replica('a');
    await advance(10);
    failing('claim');
    replica.dispatcher.wake();
    await advance(10);
    create(replica, [sampleJob({ id: 'job-1' })]).committed(new Date());
    expect(statuses('job-1')).toEqual(['pending']);
    store.before = () => {};
    const stopped = replica.stop();
    create(replica, [sampleJob({ id: 'job-2' })]).committed(new Date());
    expect(statuses('job-2')).toEqual(['pending']);
    await stopped;
  });
});

describe('the claim loop', () => {
  it('works on what is due, and sleeps when there is nothing', async () => {
    add('job-1', 'job-2', 'job-3');
    const { dispatcher } = new Replica('a');
    await advance(10);
    expect(statuses('job-1', 'job-2', 'job-3')).toEqual(['completed', 'completed', 'completed']);
    expect(dispatcher.heldJobCount).toBe(0);
  });

  it('keeps a waiting job as a row and comes back when it is due', async () => {
    add('job-1');
    const { dispatcher } = new Replica('a', busyUntil(6_000));
    await advance(10);
    expect([dispatcher.heldJobCount, store.ownerOf()]).toEqual([0, null]);
    await advance(5_980);
    expect(device.trace).toEqual(['observe', 'observe']);
    await advance(20);
    expect([store.job().status, device.trace.length]).toEqual(['completed', 3]);
  });

  it('finds new work at the next poll, or at once when it is woken', async () => {
    const { dispatcher } = new Replica('a');
    await advance(10);
    add('job-1');
    await advance(POLL_MS - 20);
    expect(store.job().status).toBe('pending');
    dispatcher.wake();
    await advance(0);
    expect(store.job().status).toBe('completed');
    add('job-2');
    await advance(POLL_MS);
    expect(store.job('job-2').status).toBe('completed');
  });

  it('holds no more jobs than it may, and claims the next as soon as there is room', async () => {
    add('job-1', 'job-2', 'job-3');
    let wake: (() => void)[] = [];
    device.whileProbing = () => new Promise<void>((resolve) => wake.push(resolve));
    const { dispatcher } = new Replica('a', device.handler, 2);
    await advance(1);
    expect([dispatcher.heldJobCount, wake.length]).toEqual([2, 2]);
    device.effects = 1;
    const [first] = wake;
    wake = [];
    first?.();
    await advance(1);
    expect([dispatcher.heldJobCount, wake.length]).toEqual([2, 1]);
    device.whileProbing = () => {};
    await replicas[0]?.stop();
  });

  it('ends an attempt that is over although it has no room', async () => {
    store.add(sampleJob({ id: 'waiting', steps: [sampleStep({ timeoutSeconds: 5, maxRetries: 0 })] }));
    const handler: StepHandler<string> = {
      ...device.handler,
      observe: async ({ operationId, signal }) =>
        operationId === 'waiting'
          ? { seen: 'under_way', reason: 'it boots', pollAfterMs: 60_000 }
          : untilStopped({ signal }),
    };
    const { dispatcher } = new Replica('a', handler, 1);
    await advance(10);
    add('busy');
    dispatcher.wake();
    await advance(1);
    expect([store.ownerOf('busy'), dispatcher.heldJobCount]).toEqual(['a', 1]);
    await advance(5_300);
    expect(store.job('waiting').error).toMatchObject({ code: 'TIMED_OUT' });
    expect(store.ownerOf('busy')).toBe('a');
  });

  it('shares the jobs with other replicas, each job held by one', async () => {
    add('job-1', 'job-2', 'job-3', 'job-4');
    const owners = new Set<string | null>();
    device.whileProbing = ({ operationId }) =>
      void owners.add(`${store.ownerOf(operationId)} ${operationId}`);
    device.effects = 1;
    new Replica('a', device.handler, 2);
    new Replica('b', device.handler, 2);
    await advance(10);
    expect([...owners].toSorted()).toEqual(['a job-1', 'a job-2', 'b job-3', 'b job-4']);
  });

  it('continues after the database was unavailable', async () => {
    add('job-1');
    failing('claim');
    const { errors } = new Replica('a');
    await advance(10);
    expect(errors).toEqual(['claiming work: the database is away']);
    store.before = () => {};
    await advance(POLL_MS);
    expect(store.job().status).toBe('completed');
  });
});

describe('the heartbeat', () => {
  it('keeps the lease of a job for as long as it is worked on', async () => {
    add('job-1');
    device.whileActing = untilStopped;
    new Replica('a');
    await advance(3 * LEASE_MS);
    new Replica('b');
    await advance(POLL_MS);
    expect([store.ownerOf(), store.job().epoch]).toEqual(['a', 1]);
  });

  it('stops a job whose lease is lost, and writes no more of it', async () => {
    add('job-1');
    device.whileActing = untilStopped;
    const { lost, errors, dispatcher } = new Replica('a');
    await advance(1);
    const writes = store.writes.length;
    store.add(store.job());
    await store.claim({ owner: 'b', limit: 1, leaseMs: LEASE_MS, deaths: 'counted' });
    await advance(LEASE_MS / 4);
    expect([lost, errors, store.writes.length]).toEqual([['job-1'], [], writes]);
    expect([store.ownerOf(), store.job().epoch, dispatcher.heldJobCount]).toEqual(['b', 2, 0]);
  });

  it('stops the old run of a job whose lease was lost and claimed again here', async () => {
    add('job-1');
    device.whileActing = untilStopped;
    const { lost, errors, dispatcher } = new Replica('a');
    await advance(1);
    store.add(store.job());
    device.whileActing = () => {};
    await advance(POLL_MS);
    expect([lost, errors, dispatcher.heldJobCount]).toEqual([['job-1'], [], 0]);
    expect([store.job().status, store.job().epoch, device.effects]).toEqual(['completed', 2, 1]);
  });

  it('lets nothing outside be touched when no renewal is answered', async () => {
    add('job-1');
    let wake = () => {};
    let answer = () => {};
    device.whileProbing = () => new Promise<void>((resolve) => (wake = resolve));
    store.before = (call) =>
      call === 'renew' ? new Promise<void>((resolve) => (answer = resolve)) : undefined;
    const { lost } = new Replica('a');
    await advance(LEASE_MS * 0.8);
    wake();
    await advance(1);
    expect([device.trace, device.effects, lost]).toEqual([['observe', 'act'], 0, ['job-1']]);
    answer();
  });

  it('lets nothing outside be touched when every renewal fails', async () => {
    add('job-1');
    let wake = () => {};
    device.whileProbing = () => new Promise<void>((resolve) => (wake = resolve));
    failing('renew', 'release');
    const { lost, errors } = new Replica('a');
    await advance(LEASE_MS * 0.8);
    wake();
    await advance(1);
    expect([device.effects, lost]).toEqual([0, ['job-1']]);
    expect(errors[0]).toBe('renewing leases: the database is away');
  });
});

describe('a cancel', () => {
  it('reaches the step that is being worked on', async () => {
    add('job-1');
    device.whileActing = untilStopped;
    const { dispatcher } = new Replica('a');
    await advance(1);
    store.cancel('job-1', CANCEL);
    dispatcher.cancelRequested('job-1');
    await advance(1);
    expect([store.job().status, device.trace]).toEqual(['cancelled', ['observe', 'act', 'undo']]);
  });

  it('reaches a job that waits as a row', async () => {
    add('job-1');
    const { dispatcher } = new Replica('a', busyUntil(60_000));
    await advance(10);
    store.cancel('job-1', CANCEL);
    dispatcher.cancelRequested('job-1');
    await advance(1);
    expect([store.job().status, device.undos]).toEqual(['cancelled', 1]);
  });
});

describe('stopping', () => {
  it('releases the held jobs at once: the next replica need not wait for a lease to end', async () => {
    add('job-1');
    device.whileActing = untilStopped;
    const leaving = new Replica('a');
    await advance(1);
    await leaving.dispatcher.stop(GRACE_MS);
    expect([store.ownerOf(), store.dueInMs(), store.job().status]).toEqual([null, 0, 'running']);
    device.whileActing = () => {};
    new Replica('b');
    await advance(1);
    expect(store.job()).toMatchObject({ status: 'completed', deaths: 0 });
    expect([store.job().steps[0]?.attempts, device.effects]).toEqual([1, 1]);
  });

  it('releases a job whose claim was answered during the stop', async () => {
    add('job-1');
    let answer = () => {};
    store.after = (call) =>
      call === 'claim' ? new Promise<void>((resolve) => (answer = resolve)) : undefined;
    const leaving = new Replica('a');
    const stopped = leaving.dispatcher.stop(GRACE_MS);
    await advance(1);
    expect(store.ownerOf()).toBe('a');
    answer();
    await stopped;
    expect([store.ownerOf(), device.effects]).toEqual([null, 0]);
  });

  it('releases a job that is being undone', async () => {
    add('job-1');
    store.add({
      ...store.job(),
      status: 'running',
      cancel: CANCEL,
      steps: [{ ...store.job().steps[0], state: 'running', attempts: 1 }],
    } as never);
    const leaving = new Replica('a', { ...device.handler, undo: untilStopped });
    await advance(1);
    expect(store.job().status).toBe('compensating');
    await leaving.dispatcher.stop(GRACE_MS);
    expect([store.ownerOf(), store.job().status]).toEqual([null, 'compensating']);
  });

  it('takes nothing new', async () => {
    const leaving = new Replica('a');
    await advance(1);
    await leaving.dispatcher.stop(GRACE_MS);
    add('job-1');
    leaving.dispatcher.wake();
    await advance(10 * POLL_MS);
    expect(store.job().status).toBe('pending');
  });

  it('keeps the lease while a step does not return, so that no other replica runs it at the same time', async () => {
    add('job-1');
    device.whileActing = forever;
    const leaving = new Replica('a');
    await advance(1);
    const stopped = leaving.dispatcher.stop(2_000);
    await advance(1_999);
    expect(store.ownerOf()).toBe('a');
    await advance(1);
    await stopped;
    expect([store.ownerOf(), store.job().status]).toEqual(['a', 'running']);
  });

  it('leaves a step that does not return to the next replica, which probes: it is no failure', async () => {
    add('job-1');
    device.whileActing = forever;
    const leaving = new Replica('a');
    await advance(1);
    await leaving.stop();
    expect(store.job()).toMatchObject({ status: 'running', error: null });
    device.whileActing = () => {};
    new Replica('b');
    await advance(LEASE_MS + POLL_MS);
    expect(store.job()).toMatchObject({ status: 'completed', epoch: 2 });
  });

  it('leaves no timer behind that would keep the process alive', async () => {
    add('job-1');
    const leaving = new Replica('a');
    await advance(1);
    await leaving.dispatcher.stop(GRACE_MS);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('when a move can’t be written', () => {
  it('the job is dropped, released later, and continues from the state of its device', async () => {
    add('job-1');
    device.whileActing = () => failing('record', 'release');
    const { errors, dispatcher } = new Replica('a');
    await advance(1);
    expect([device.effects, dispatcher.heldJobCount, store.ownerOf()]).toEqual([1, 0, 'a']);
    expect(errors).toEqual(['working on job-1; claiming pauses: the database is away']);
    await advance(LEASE_MS / 4);
    expect(errors.at(-1)).toBe('renewing leases: the database is away');
    store.before = () => {};
    await advance(LEASE_MS / 4);
    await advance(POLL_MS);
    expect(store.job()).toMatchObject({ status: 'completed', epoch: 2, deaths: 0 });
    expect(device.effects).toBe(1);
  });

  it('its other jobs go on', async () => {
    add('job-1', 'job-2');
    store.before = (call) => {
      if (call === 'record' && store.ownerOf('job-1') === 'a' && failures++ === 0)
        throw new Error('one is refused');
    };
    let failures = 0;
    const { errors } = new Replica('a');
    await advance(1);
    expect(errors).toEqual(['working on job-1: one is refused']);
    expect(store.job('job-2').status).toBe('completed');
  });
});

describe('a job whose holders die', () => {
  it('is taken over when the lease is over, and parked when it happens too often', async () => {
    add('job-1');
    device.whileActing = forever;
    for (let death = 0; death < MAX_DEATHS; death += 1) {
      new Replica(`dying-${death}`);
      await advance(POLL_MS);
      expect(store.ownerOf()).toBe(`dying-${death}`);
      store.kill(`dying-${death}`);
      await advance(LEASE_MS);
    }
    const { dispatcher } = new Replica('b');
    await advance(POLL_MS);
    expect(store.job()).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'HOLDER_DIED_REPEATEDLY' },
    });
    expect([device.trace.length, dispatcher.heldJobCount]).toEqual([2 * MAX_DEATHS, 0]);
  });
});
