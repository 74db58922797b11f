/** Everything that is read of the machine's parts, its chassis, its manager and its firmware, as it is now. */
import { hardwareTree } from '../simulated-hardware.ts';
import { collection, ok, type SimulatedNoun, type SimulatedRequest } from '../simulated-noun.ts';

export const hardware: SimulatedNoun = {
  routes: { 'GET *': read },
  adds: { system: (bmc) => hardwareTree(bmc).system },
};

function read(request: SimulatedRequest) {
  const { bmc, path } = request;
  if (bmc.fault === 'dangling-memory' && path.endsWith('/Memory')) return null;
  const { collections, resources } = hardwareTree(bmc);
  const members = collections.get(path);
  if (members !== undefined) return collection(request, members, (id) => resources.get(id));
  const resource = resources.get(path);
  return resource === undefined ? null : ok(resource);
}
