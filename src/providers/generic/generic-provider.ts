/**
 * Machines that nobody but their own agent speaks for: rented or borrowed ones whose power and disks are out of our
 * reach. They have no capabilities, so an operation that needs one is refused before it starts.
 */
import type { Provider } from '../provider.ts';

export function createGenericProvider(name: string): Provider {
  return { name, capabilities: {}, defaultImage: '' };
}
