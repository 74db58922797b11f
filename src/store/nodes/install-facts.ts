/** What the start of an operation needs of the install layer, read in its transaction. */
import { hasTerms, type Scope } from '../../domain/access/scope.ts';
import type { InstallState } from '../../domain/install/install-state.ts';
import type { InstallFacts } from '../../providers/network-installs.ts';
import type { Session } from '../database/database.ts';
import { listImages, listInstallProfiles } from './images.ts';

/** The facts as a caller with a scope sees them: without the images and workflows of other scopes. */
export type FactsFor = (scope: Scope | null) => InstallFacts;

const NO_INSTALL_FACTS: InstallFacts = { images: [], nodes: new Map(), profiles: new Map() };

export async function readInstallFacts(session: Session, machineIds: readonly string[]): Promise<FactsFor> {
  if (machineIds.length === 0) return () => NO_INSTALL_FACTS;
  const images = await listImages(session, null);
  const profiles = await listInstallProfiles(session, null);
  const rows = await session.run<{
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
  const nodes = new Map(rows.map(({ machine_id: id, install, ...row }) => [id, { state: install, ...row }]));
  return (scope) => ({
    images: images.filter(({ scopeTerms }) => hasTerms(scope, scopeTerms)).map(({ name }) => name),
    nodes,
    profiles: new Map(
      profiles
        .filter(({ scopeTerms }) => hasTerms(scope, scopeTerms))
        .map(({ profile }) => [profile.name, profile]),
    ),
  });
}
