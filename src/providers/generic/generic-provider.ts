/**
 * Machines that are known through their agent only: rented or borrowed ones whose power and disks Ingot can't control.
 * They have no capabilities, so an operation that needs one is refused before it starts.
 */
import type { Provider } from '../provider.ts';

export function createGenericProvider(name: string): Provider {
  return { name, capabilities: {}, defaultImage: '' };
}
