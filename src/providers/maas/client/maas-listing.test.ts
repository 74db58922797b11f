import { describe, expect, it } from 'vitest';
import { shaped } from './maas-answers.ts';
import { LateAnswer, type MaasRead } from './maas-api.ts';
import { MaasFailure } from './maas-failure.ts';
import { MaasLister } from './maas-listing.ts';

const call = { signal: new AbortController().signal };
const ids = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `m${from + index}`);
const machineJson = (id: string): unknown => ({ system_id: id, status: 6, power_state: 'on' });

/** A MAAS that answers each request as `answer` says; `asked` has how many machines each was about. */
function listerOf(answer: (ids: readonly string[]) => unknown) {
  const asked: number[] = [];
  const lister = new MaasLister({
    api: {
      async read(_call: unknown, { query = [] }: MaasRead) {
        asked.push(query.length);
        return answer(query.map(([, value]) => value));
      },
    },
    now: Date.now,
    shaped: (schema, given, doing) => shaped(schema, given, { maas: 'site-a', doing }),
  });
  return { lister, asked };
}

function tooLarge(): MaasFailure {
  return new MaasFailure({ class: 'needs_human', code: 'MAAS_ANSWER_TOO_LARGE', message: 'too large' });
}

describe('a list of machines', () => {
  it('is asked for a hundred at a time', async () => {
    const { lister, asked } = listerOf((wanted) => wanted.map(machineJson));
    const { machines, unread } = await lister.byId(call, ids(250));
    expect([machines.length, unread, asked]).toEqual([250, [], [100, 100, 50]]);
  });

  it('keeps its queries short where ids are long', async () => {
    const { lister, asked } = listerOf((wanted) => wanted.map(machineJson));
    await lister.byId(
      call,
      ids(20).map((id) => id.padEnd(996, 'x')),
    );
    expect(asked).toEqual([6, 6, 6, 2]);
  });

  it('leaves out the one machine that is odd, and says which', async () => {
    const { lister } = listerOf((wanted) =>
      wanted.map((id) => (id === 'm3' ? { system_id: 'm3', status: 'burning' } : machineJson(id))),
    );
    const { machines, unread } = await lister.byId(call, ids(5));
    expect(machines.map(({ systemId }) => systemId)).toEqual(['m0', 'm1', 'm2', 'm4']);
    expect(unread).toEqual(['m3']);
  });

  it('calls nothing gone where something was listed that has no name', async () => {
    const { lister } = listerOf((wanted) => [...wanted.slice(0, 2).map(machineJson), { status: 6 }]);
    expect((await lister.byId(call, ids(4))).unread).toEqual(['m2', 'm3']);
    expect((await lister.byMac(call, ids(4))).unread).toEqual(ids(4));
  });

  it('has nothing in it that was not asked for', async () => {
    const { lister } = listerOf(() => ids(5).map(machineJson));
    const { machines, unread } = await lister.byId(call, ['m1', 'm9']);
    expect([machines.map(({ systemId }) => systemId), unread]).toEqual([['m1'], []]);
  });

  it('is asked for in smaller parts where an answer is too large, and in larger ones again later', async () => {
    const { lister, asked } = listerOf((wanted) => {
      if (wanted.length > 40) throw tooLarge();
      return wanted.map(machineJson);
    });
    const { machines, unread } = await lister.byId(call, ids(150));
    expect([machines.length, unread]).toEqual([150, []]);
    expect(asked).toEqual([100, 50, 25, 26, 27, 28, 29, 15]);
  });

  it('goes on without a machine that is too large by itself', async () => {
    const { lister } = listerOf((wanted) => {
      if (wanted.includes('m1')) throw tooLarge();
      return wanted.map(machineJson);
    });
    const { machines, unread } = await lister.byId(call, ids(3));
    expect([machines.map(({ systemId }) => systemId), unread]).toEqual([['m0', 'm2'], ['m1']]);
  });

  it('ends with an answer that came too late, and is half as much the next time', async () => {
    let isSlow = true;
    const { lister, asked } = listerOf((wanted) => {
      if (isSlow) throw new LateAnswer({ class: 'retryable', code: 'MAAS_UNAVAILABLE', message: 'late' });
      return wanted.map(machineJson);
    });
    await expect(lister.byId(call, ids(100))).rejects.toThrow('late');
    isSlow = false;
    expect((await lister.byId(call, ids(100))).machines).toHaveLength(100);
    expect(asked).toEqual([100, 50, 50]);
  });

  it('that is no list is an answer of a shape that is not known', async () => {
    const { lister } = listerOf(() => ({ unheard: 'of' }));
    await expect(lister.byId(call, ids(1))).rejects.toThrow("a shape that we don't know");
  });
});
