import { describe, expect, it } from 'vitest';
import { checkHistory, type LoggedEvent } from './check-history.ts';

const PLACES = [
  { machineId: 'a', rack: 'r1', wave: 1 },
  { machineId: 'b', rack: 'r1', wave: 1 },
  { machineId: 'c', rack: 'r2', wave: 2 },
];
const PROMISED = { rolloutId: 'ro-1', maxParallel: 2, maxInRack: 1, operationsEach: 1 };

function history(...moves: readonly string[]): LoggedEvent[] {
  return moves.map((move, index) => {
    const [what = '', machine = ''] = move.split(' ');
    const base = { event_id: index, machine_id: null, operation_id: null, metadata: {} };
    if (what === 'rollout')
      return { ...base, kind: 'rollout', subject: 'ro-1', from_state: 'running', to_state: machine };
    return {
      ...base,
      kind: 'operation',
      subject: 'REBOOT',
      from_state: what === 'start' ? '' : 'running',
      to_state: what === 'start' ? 'pending' : 'completed',
      machine_id: machine,
      operation_id: `op-${machine}${what === 'again' ? '2' : ''}`,
      metadata: { rollout_id: 'ro-1' },
    };
  });
}

const GOOD = ['start a', 'end a', 'start b', 'end b', 'start c', 'end c'];

describe('the check of a history', () => {
  it('finds nothing where nothing is wrong', () => {
    expect(checkHistory(history(...GOOD), PLACES, PROMISED)).toEqual({
      findings: [],
      mostAtOnce: 1,
      mostInRack: 1,
      starts: 3,
    });
  });

  it.each<[string, readonly string[], string]>([
    ['two in a rack', ['start a', 'start b', 'end a', 'end b', 'start c', 'end c'], '2 at once in r1'],
    [
      'a wave that is early',
      ['start a', 'end a', 'start c', 'end c', 'start b', 'end b'],
      'before wave 1 was done',
    ],
    ['a machine that is forgotten', GOOD.slice(0, 4), 'c was started 0 times'],
    ['a machine that starts twice', [...GOOD, 'start a', 'end a'], 'a was started 2 times'],
    ['an operation without an end', GOOD.slice(0, 5), 'c was not completed'],
    ['a start in a pause', ['rollout paused', ...GOOD], 'started while the rollout was held'],
  ])('finds %s', (_name, moves, finding) => {
    expect(checkHistory(history(...moves), PLACES, PROMISED).findings.join('\n')).toContain(finding);
  });

  it('finds too many at once', () => {
    const places = PLACES.map((place, index) => ({ ...place, wave: 1, rack: `r${index}` }));
    const events = history('start a', 'start b', 'start c', 'end a', 'end b', 'end c');
    expect(checkHistory(events, places, PROMISED).findings).toEqual(['3 at once, at most 2 are allowed']);
  });
});
