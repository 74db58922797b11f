/** What the system says of its serial console (ComputerSystem v1.13 and later: SerialConsole). */
import type { SimulatedNoun } from '../simulated-noun.ts';

export const serialConsole: SimulatedNoun = {
  routes: {},
  adds: { system: ({ serialConsole: offered }) => (offered === null ? {} : { SerialConsole: offered }) },
};
