import type { Proof } from './proof.fixture.ts';

export const CLUSTER_PROOFS: Readonly<Record<string, Proof>> = {
  cordon: {
    config: { action: 'cordon', cluster_ref: 'prod' },
    world: { clusterRef: 'prod' },
    leaves: { body: { cordonedBy: 'op-1', drained: false }, tasks: ['cordon op-1'] },
    undone: ({ cordonedBy }) => cordonedBy === '',
  },
  'cordon of a node that an earlier operation cordoned': {
    config: { action: 'cordon', cluster_ref: 'prod' },
    world: { clusterRef: 'prod', cordonedBy: 'op-0' },
    leaves: { body: { cordonedBy: 'op-1' }, tasks: ['cordon op-1'] },
    undone: ({ cordonedBy }) => cordonedBy !== 'op-1',
  },
  drain: {
    config: { action: 'drain', cluster_ref: 'prod' },
    world: { clusterRef: 'prod', cordonedBy: 'op-1' },
    leaves: { body: { cordonedBy: 'op-1', drained: true }, tasks: ['drain'] },
    undone: ({ cordonedBy, drained }) => cordonedBy === '' && !drained,
  },
  uncordon: {
    config: { action: 'uncordon', cluster_ref: 'prod' },
    world: { clusterRef: 'prod', cordonedBy: 'op-1', drained: true },
    leaves: { body: { cordonedBy: '', drained: false }, tasks: ['uncordon'] },
  },
};
