/** What the start of an operation needs of the install layer, read in its transaction. */

import type { InstallProfile } from '../../domain/install/install-profile.ts';
import type { InstallState } from '../../domain/install/install-state.ts';
import type { InstallFacts } from '../../providers/network-installs.ts';
import type { Session } from '../database/database.ts';
import { listImages, listInstallProfiles } from './images.ts';

const NO_INSTALL_FACTS: InstallFacts = { images: [], nodes: new Map(), profiles: new Map() };

export async function readInstallFacts(
  session: Session,
  machineIds: readonly string[],
): Promise<InstallFacts> {
  if (machineIds.length === 0) return NO_INSTALL_FACTS;
  const images = await listImages(session);
  const profiles = await listInstallProfiles(session);
  const nodes = await session.run<{
    machine_id: string;
    install: InstallState;
    profile: string;
    arch: string;
  }>(
    'install-facts',
    `SELECT machine_id, m.install, n.workflow AS profile, n.arch FROM nodes n JOIN machines m USING (machine_id)
     WHERE machine_id = ANY($1)`,
    [machineIds],
  );
  return {
    images: images.map(({ name }) => name),
    nodes: new Map(nodes.map(({ machine_id: id, install, ...row }) => [id, { state: install, ...row }])),
    profiles: new Map(profiles.map((profile: InstallProfile) => [profile.name, profile])),
  };
}
