/** The pages of a fleet whose pictures are kept, by the name of their files. */
import type { Showcase } from './showcase-fleet.ts';

type PagePath = (showcase: Showcase) => string;

export const VISUAL_PAGES: Readonly<Record<string, PagePath>> = {
  fleet: () => '/fleet',
  machines: () => '/machines',
  'machines-grouped': () => '/machines?group=location.rack',
  racks: () => '/racks',
  'machine-failed': ({ machineFailed }) => `/machines/${machineFailed}`,
  'machine-lost': ({ machineLost }) => `/machines/${machineLost}`,
  'machine-hardware': ({ machineLost }) => `/machines/${machineLost}/hardware`,
  'machine-operations': ({ machineFailed }) => `/machines/${machineFailed}/operations`,
  'machine-history': ({ machineFailed }) => `/machines/${machineFailed}/history`,
  'machine-configuration': ({ machineFailed }) => `/machines/${machineFailed}/configuration`,
  // Of one machine: those of others started at the same time, in any order.
  operations: ({ machineFailed }) => `/operations?filter=machine_id%3D${machineFailed}`,
  'operation-failed': ({ failed }) => `/operations/${failed}`,
  'operation-running': ({ running }) => `/operations/${running}`,
  'operation-succeeded': ({ succeeded }) => `/operations/${succeeded}`,
  rollouts: () => '/rollouts',
  'rollout-gated': ({ gated }) => `/rollouts/${gated}`,
  'rollout-stopped': ({ stopped }) => `/rollouts/${stopped}`,
  nodes: () => '/nodes',
  agents: () => '/agents',
  pools: () => '/pools',
  images: () => '/images',
  workflows: () => '/workflows',
  plans: () => '/plans',
  providers: () => '/providers',
  budgets: () => '/budgets',
  access: () => '/access',
  audit: () => '/audit',
};
