import { describe, expect, it } from 'vitest';
import { Fault } from '../error/fault.ts';
import {
  isMaintenanceOverdue,
  maintenanceAfter,
  maintenanceOrder,
  maintenanceParams,
} from './maintenance.ts';

const AT = new Date('2026-01-01T10:00:00.000Z');
const LATER = new Date('2026-01-01T11:00:00.000Z');
const READY = { phase: 'READY', maintenance: null } as const;

function order(params: Readonly<Record<string, string>>) {
  return maintenanceOrder(maintenanceParams(params), 'operator:ann');
}

describe('maintenance', () => {
  it('has a start, an end where there is a duration, a reason and an author', () => {
    expect(
      maintenanceAfter(
        READY,
        'MAINTENANCE',
        order({ duration: '2h', reason: 'new fan', exit_when_over: 'true' }),
        AT,
      ),
    ).toEqual({
      since: '2026-01-01T10:00:00.000Z',
      until: '2026-01-01T12:00:00.000Z',
      reason: 'new fan',
      by: 'operator:ann',
      exitsByItself: true,
    });
    expect(maintenanceAfter(READY, 'MAINTENANCE', order({}), AT)).toMatchObject({
      until: null,
      exitsByItself: false,
    });
  });

  it('is replaced by a second order, which keeps its start', () => {
    const first = maintenanceAfter(READY, 'MAINTENANCE', order({ duration: '1h', reason: 'a' }), AT);
    const inside = { phase: 'MAINTENANCE', maintenance: first } as const;
    expect(
      maintenanceAfter(inside, 'MAINTENANCE', order({ duration: '3h', reason: 'b' }), LATER),
    ).toMatchObject({
      since: '2026-01-01T10:00:00.000Z',
      until: '2026-01-01T14:00:00.000Z',
      reason: 'b',
    });
    expect(maintenanceAfter(inside, 'MAINTENANCE', undefined, LATER)).toBe(first);
    expect(maintenanceAfter(inside, 'READY', undefined, LATER)).toBeNull();
  });

  it('is known without an order, too: a run that fails leaves its machine in it', () => {
    expect(maintenanceAfter(READY, 'MAINTENANCE', undefined, AT)).toMatchObject({
      until: null,
      by: '',
      reason: '',
    });
  });

  it('is overdue from its end on, in its phase only', () => {
    const maintenance = maintenanceAfter(READY, 'MAINTENANCE', order({ duration: '1h' }), AT);
    expect(isMaintenanceOverdue({ phase: 'MAINTENANCE', maintenance }, AT)).toBe(false);
    expect(isMaintenanceOverdue({ phase: 'MAINTENANCE', maintenance }, LATER)).toBe(true);
    expect(isMaintenanceOverdue({ phase: 'READY', maintenance }, LATER)).toBe(false);
  });

  it.each([
    [{ duration: 'soon' }, 'duration'],
    [{ duration: '0s' }, 'duration'],
    [{ exit_when_over: 'true' }, 'duration'],
    [{ duration: '1h', exit_when_over: 'maybe' }, 'exit_when_over'],
  ])('refuses %j', (params, field) => {
    expect(() => maintenanceParams(params)).toThrow(Fault);
    expect(() => maintenanceParams(params)).toThrow(field);
  });
});
