import { expect } from 'vitest';
import type { Proof } from './proof.fixture.ts';

/** The BMC answers when it is done. */
export const BMC_PROOFS: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  power: {
    'off at once': {
      config: { action: 'off' },
      leaves: { body: { power: 'off' }, tasks: ['shutdown'] },
    },
    'off by the operating system': {
      config: { action: 'shutdown' },
      leaves: { body: { power: 'off' }, tasks: ['shutdown'] },
    },
    'on of a machine that is off': {
      config: { action: 'on' },
      world: { power: 'off' },
      leaves: { body: { power: 'on', bootCount: 2 }, tasks: ['reboot'] },
    },
    reset: {
      config: { action: 'reset' },
      onTheLine: true,
      parksWhenUnknown: true,
      leaves: { body: { bootCount: 2 }, tasks: ['reboot'] },
    },
    'cycle of a machine that is off': {
      config: { action: 'cycle' },
      world: { power: 'off' },
      leaves: { body: { power: 'on', bootCount: 2 }, tasks: ['reboot'] },
    },
    nmi: {
      config: { action: 'nmi' },
      onTheLine: true,
      parksWhenUnknown: true,
      leaves: { tasks: ['bmc nmi'] },
    },
  },
  'power-cap': {
    'set to a number of watts': {
      config: { watts: 450 },
      leaves: { body: { bmc: { limitWatts: 450 } }, tasks: ['bmc limitWatts 450'] },
    },
    removed: {
      config: { watts: null },
      world: { bmc: { limitWatts: 450 } },
      leaves: { body: { bmc: { limitWatts: null } }, tasks: ['bmc limitWatts null'] },
    },
  },
  'clear-log': {
    'of a BMC with entries': {
      config: {},
      onTheLine: true,
      leaves: { body: { bmc: { logEntries: 0 } }, tasks: ['bmc logEntries 0'] },
    },
  },
  'bmc-reset': {
    'of a machine that goes on': {
      config: {},
      harmless: true,
      leaves: { body: { power: 'on', bootCount: 1 }, tasks: ['bmc reset'] },
    },
  },
  'boot-override': {
    'to the set-up, once': {
      config: { source: 'setup' },
      leaves: {
        body: { bmc: { boot: expect.objectContaining({ source: 'setup', lasts: 'once' }) } },
        tasks: [expect.stringMatching(/^bmc boot .*"setup"/)],
      },
    },
    'to the network, for every boot': {
      config: { source: 'pxe', lasts: 'always', mode: 'Legacy' },
      leaves: {
        body: {
          bmc: { boot: expect.objectContaining({ source: 'pxe', lasts: 'always', mode: 'Legacy' }) },
        },
        tasks: [expect.stringMatching(/^bmc boot .*"pxe"/)],
      },
    },
  },
  'rotate-password': {
    'of an account': {
      config: {},
      leaves: {
        body: { bmc: { password: 'none', rotations: 1 } },
        tasks: ['bmc password "prepared"', 'bmc password "changed"', 'bmc password "none"'],
      },
      // Never left between two passwords, wherever the cancel struck.
      undone: ({ bmc }) => (bmc?.password ?? 'none') === 'none',
    },
  },
};
