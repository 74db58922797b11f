import { describe, expect, it } from 'vitest';
import { extendedMessages } from '../connection/extended-error.ts';
import type { WireAnswer } from '../connection/redfish-wire.ts';
import type { RedfishService } from './redfish-service.ts';
import { readTask, taskOf } from './redfish-task.ts';
import { quirksOf } from './vendor-quirk.ts';

const answer = (status: number, body: unknown = null, headers: Record<string, string> = {}): WireAnswer => ({
  status,
  body,
  headers,
  messages: extendedMessages(body),
});

function serviceWith(given: WireAnswer, vendor = ''): RedfishService {
  const quirks = async () => quirksOf({ vendor, product: '', manager: '' });
  return { where: 'bmc:443', ask: async () => given, quirks } as unknown as RedfishService;
}

const read = (given: WireAnswer, vendor?: string) => readTask(serviceWith(given, vendor), '/t');
const task = (fields: object) => answer(200, { '@odata.type': '#Task.v1_4_3.Task', ...fields });

describe('the task of an answer', () => {
  const path = '/redfish/v1/TaskService/Tasks/7';
  const message = { '@Message.ExtendedInfo': [{ MessageArgs: [path] }] };
  it.each([
    ['in its location', answer(202, null, { location: path }), path],
    [
      'by a whole address, of which the path counts',
      answer(202, null, { location: `https://elsewhere.example${path}` }),
      path,
    ],
    ['in the body', answer(202, { '@odata.id': path }), path],
    ['in a message', answer(202, { Accepted: message }), path],
    ['as the body of a 200', task({ '@odata.id': path, TaskState: 'Running' }), path],
    [
      'by its monitor',
      task({ '@odata.id': path, TaskState: 'New', TaskMonitor: `${path}/Monitor` }),
      `${path}/Monitor`,
    ],
    ['nowhere', answer(202), null],
    ['nowhere, because it is over', answer(204), null],
    [
      'nowhere: a resource that was created',
      answer(201, { '@odata.id': '/redfish/v1/x' }, { location: '/redfish/v1/x' }),
      null,
    ],
  ])('is found %s', (_where, given, wanted) => expect(taskOf(given)).toBe(wanted));
});

describe('a task', () => {
  it.each([
    ['New', 'running'],
    ['Starting', 'running'],
    ['Running', 'running'],
    ['Suspended', 'running'],
    ['Interrupted', 'running'],
    ['Pending', 'waits_for_reset'],
    ['Stopping', 'running'],
    ['Completed', 'done'],
    ['Killed', 'failed'],
    ['Exception', 'failed'],
    ['Service', 'running'],
    ['Cancelling', 'running'],
    ['Cancelled', 'failed'],
    ['OfAnotherSchema', 'running'],
  ])('that is %s is %s', async (named, state) => {
    expect(await read(task({ TaskState: named }))).toMatchObject({ state });
  });

  it('says what it is at, in the words of its newest messages', async () => {
    const messages = ['one', 'two', 'three', 'the last'].map((text) => ({ Message: text }));
    const found = await read(task({ TaskState: 'Running', PercentComplete: 42.7, Messages: messages }));
    expect(found).toEqual({
      state: 'running',
      words: 'the task is running: two; three; the last',
      percent: 42,
      pollAfterMs: 5_000,
    });
  });

  it('that is complete with a critical status has failed', async () => {
    expect(await read(task({ TaskState: 'Completed', TaskStatus: 'Critical' }))).toMatchObject({
      state: 'failed',
    });
  });

  it('of a job that is scheduled waits for a reset, where its vendor calls it otherwise', async () => {
    const scheduled = task({ TaskState: 'Starting', Messages: [{ MessageId: 'IDRAC.2.8.JCP001' }] });
    expect(await read(scheduled, 'Dell')).toMatchObject({ state: 'waits_for_reset' });
    expect(await read(scheduled, 'Other')).toMatchObject({ state: 'running' });
    const job = task({ TaskState: 'Starting', Oem: { Dell: { JobState: 'Scheduled' } } });
    expect(await read(job, 'Dell')).toMatchObject({ state: 'waits_for_reset' });
  });
});

describe('a monitor', () => {
  it.each([
    [202, 'running'],
    [200, 'done'],
    [204, 'done'],
    [404, 'gone'],
    [410, 'gone'],
    [400, 'failed'],
    [500, 'failed'],
  ])('that answers %i is %s', async (status, state) => {
    expect(await read(answer(status))).toMatchObject({ state });
  });

  it.each([
    ['7', 7_000],
    ['0', 1_000],
    ['86400', 300_000],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 5_000],
  ])('that says Retry-After: %s is asked again after %i ms', async (seconds, pollAfterMs) => {
    expect(await read(answer(202, null, { 'retry-after': seconds }))).toMatchObject({ pollAfterMs });
  });

  it('that says Retry-After as a date is asked again then, by the clock of the service', async () => {
    const date = 'Wed, 21 Oct 2026 07:27:30 GMT';
    const headers = { date, 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' };
    expect(await read(answer(202, null, headers))).toMatchObject({ pollAfterMs: 30_000 });
    expect(await read(answer(202, null, { ...headers, 'retry-after': date }))).toMatchObject({
      pollAfterMs: 1_000,
    });
  });

  it.each([
    [503, /is busy/],
    [502, /does not answer: .* answered 502/],
    [504, /does not answer: .* answered 504/],
  ])('whose service is not there (%i) is waited for, and is no failed task', async (status, words) => {
    await expect(read(answer(status))).rejects.toThrow(words);
  });

  it('that failed says why', async () => {
    const error = { '@Message.ExtendedInfo': [{ Message: 'The image is for another board.' }] };
    expect(await read(answer(400, { error }))).toMatchObject({ words: 'The image is for another board.' });
  });
});
