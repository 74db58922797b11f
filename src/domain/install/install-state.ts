import type { Lifecycle } from '../lifecycle/lifecycle.ts';

/** What is on the machine's disk? */
export type InstallState =
  | 'discovered'
  | 'pending'
  | 'installing'
  | 'install_failed'
  | 'installed'
  | 'active'
  | 'reprovision'
  | 'deprovisioning'
  | 'migrating'
  | 'retired';
export type InstallOwner = 'admin' | 'system' | 'node_report';

const decommission = { to: 'retired', owners: ['admin'], when: 'the machine is decommissioned' } as const;

export const installLifecycle = {
  name: 'install',
  question: 'What is on its disk?',
  initial: 'discovered',
  states: {
    discovered: { meaning: 'booted from the network, awaiting approval' },
    pending: { meaning: 'approved, workflow assigned, waiting to install' },
    installing: { meaning: 'an installation is in progress' },
    install_failed: { meaning: 'the installation failed after all attempts; an operator must act' },
    installed: { meaning: 'installed, awaiting verification' },
    active: { meaning: 'in production use' },
    reprovision: { meaning: 'marked for re-imaging' },
    deprovisioning: { meaning: 'secure erasure in progress' },
    migrating: { meaning: 'hardware is being replaced' },
    retired: { meaning: 'decommissioned', final: true },
  },
  transitions: [
    {
      from: 'discovered',
      to: 'pending',
      owners: ['admin', 'system'],
      when: 'an admin or a rule of the configuration approves, or an operation images it',
    },
    {
      from: 'pending',
      to: 'installing',
      owners: ['node_report', 'admin'],
      when: 'the node reports started, or an admin says so for it',
    },
    {
      from: 'installing',
      to: 'installed',
      owners: ['node_report', 'admin'],
      when: 'the node reports complete, or an admin says so for it',
    },
    {
      from: 'installing',
      to: 'install_failed',
      owners: ['node_report', 'system', 'admin'],
      when: 'the third attempt failed, or the installation was given up',
    },
    {
      from: 'install_failed',
      to: 'pending',
      owners: ['admin', 'system'],
      when: 'an admin assigns a workflow and resets with force, or an operation images it again',
    },
    {
      from: 'installed',
      to: 'active',
      owners: ['admin', 'system'],
      when: "verified, by an admin or by the group's auto-promotion",
    },
    {
      from: 'installed',
      to: 'reprovision',
      owners: ['admin', 'system'],
      when: 'verification failed, image again',
    },
    { from: 'active', to: 'reprovision', owners: ['admin', 'system'], when: 'marked for re-imaging' },
    { from: 'active', to: 'deprovisioning', owners: ['admin', 'system'], when: 'erasure starts' },
    { from: 'active', to: 'migrating', owners: ['admin', 'system'], when: 'hardware replacement starts' },
    { from: 'reprovision', to: 'pending', owners: ['admin', 'system'], when: 'the install is queued' },
    {
      from: 'migrating',
      to: 'active',
      owners: ['admin', 'system'],
      when: 'hardware replacement ends, or is given up',
    },
    {
      from: 'deprovisioning',
      to: 'retired',
      owners: ['node_report', 'admin', 'system'],
      when: 'erasure is complete',
    },
    {
      from: 'discovered',
      to: 'retired',
      owners: ['admin', 'system'],
      when: 'the machine is decommissioned, or is the replacement of another, which takes it in',
    },
    { from: 'pending', ...decommission },
    { from: 'installing', ...decommission },
    { from: 'install_failed', ...decommission },
    { from: 'installed', ...decommission },
    { from: 'active', ...decommission },
    { from: 'reprovision', ...decommission },
    { from: 'migrating', ...decommission },
  ],
} as const satisfies Lifecycle<InstallState, InstallOwner>;
