/**
 * Whether a deployment failed because the machine did not find its datasource, which is worth another try.
 *
 * MAAS never says so. The installed system reports that it searches for its datasource, and then nothing; after half an
 * hour MAAS fails the deployment. Earlier in every deployment the installer searches for the same datasource, and finds it.
 * So what counts is the last event of the installation, and not whether a datasource was ever mentioned.
 */
import type { MaasEvent } from './client/maas-control.ts';

const OF_INSTALLATION = /^Node (?:post-)?installation/i;
const BEGINS = { type: 'Node changed status', description: /to 'Deploying'$/ } as const;

/** Newest first, as MaasControl.events gives them. */
export function isDatasourceFailure(events: readonly MaasEvent[]): boolean {
  const begin = events.findIndex(
    ({ type, description }) => type === BEGINS.type && BEGINS.description.test(description),
  );
  const ofThisOne = begin < 0 ? events : events.slice(0, begin);
  const last = ofThisOne.find(({ type }) => OF_INSTALLATION.test(type));
  return last !== undefined && /datasource/i.test(last.description);
}
