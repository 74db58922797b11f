import { expect, it } from 'vitest';
import { erasureIn, reportOf } from './maas-erasure.ts';

const event = (id: number, type: string) => ({ id, type, at: '', level: 'INFO', description: '' });
const EVENTS = [
  event(9, 'Failed to power off node'),
  event(8, 'Disks erased'),
  event(7, 'User erasing disk'),
  event(6, 'Deployed'),
  event(5, 'Disks erased'),
];

it('only what MAAS reported since the release counts', () => {
  expect(erasureIn(EVENTS, 6)).toEqual({ isErased: true, powerOffFailed: true });
  expect(erasureIn(EVENTS.slice(1), 6)).toEqual({ isErased: true, powerOffFailed: false });
  expect(erasureIn(EVENTS, 8)).toEqual({ isErased: false, powerOffFailed: true });
  expect(erasureIn([event(10, 'Released'), ...EVENTS], 9)).toEqual({
    isErased: false,
    powerOffFailed: false,
  });
});

it('of a release that it did not ask for, only the last erasing counts', () => {
  expect(erasureIn(EVENTS.slice(2), 0)).toEqual({ isErased: false, powerOffFailed: false });
  expect(erasureIn(EVENTS.slice(3), 0)).toEqual({ isErased: true, powerOffFailed: false });
});

const wipe = (secureErase: boolean, quickErase: boolean) => ({ runId: 1, secureErase, quickErase });
const SECURE = 'securely where a disk can, otherwise overwritten with zeros';

it.each([
  [
    { wanted: 'erase', isErased: true, wipe: wipe(true, false), isForced: false },
    `MAAS erased the disks (${SECURE})`,
  ],
  [
    { wanted: 'erase', isErased: true, wipe: wipe(false, true), isForced: true },
    'MAAS erased the disks (only 2 MiB at the start and the end of each); it does so at every release, as its own settings say, which are not what was asked for',
  ],
  [
    { wanted: 'keep', isErased: true, wipe: wipe(true, true), isForced: true },
    'MAAS erased the disks (securely where a disk can, otherwise only 2 MiB at the start and the end of each); it does so at every release, as its own settings say',
  ],
  [{ wanted: 'keep', isErased: false, wipe: null, isForced: false }, 'the disks were not erased'],
  [
    { wanted: 'erase', isErased: true, wipe: null, isForced: false },
    'MAAS erased the disks (it does not say how)',
  ],
] as const)('%o is reported as what it is', (findings, text) => {
  expect(reportOf(findings)).toEqual({ text, isMissing: false });
});

it('what was asked for and is not shown to be done is not claimed', () => {
  expect(reportOf({ wanted: 'erase', isErased: false, wipe: wipe(true, false), isForced: false })).toEqual({
    text: 'MAAS released the machine, but does not say that it erased its disks',
    isMissing: true,
  });
});
