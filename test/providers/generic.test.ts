/** A provider without a capability: its machines have an agent, and no other way in. */
import { sampleMachine } from '../../src/domain/machine/machine.fixture.ts';
import { createGenericProvider } from '../../src/providers/generic/generic-provider.ts';
import { describeProviderContract } from './contract.ts';

describeProviderContract('generic', [], async () => ({
  provider: createGenericProvider('generic'),
  machine: () => sampleMachine(),
  cases: {},
  snapshot: async () => null,
  failures: [],
  slow: [],
  secrets: [],
  close: async () => {},
}));
