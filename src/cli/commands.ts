/**
 * Which module has which command at the top. A module is loaded when its command is typed: a command starts without the code of all
 * others. Each noun has a group (`ingot machine list`, `ingot op cancel`), and the most frequent verbs are also at the top
 * (`ingot list`, `ingot logs`). The default command of a group is show: `ingot op <id>` is `ingot op show <id>`.
 */
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';

type Load = () => Promise<(context: CommandContext) => Command>;

/** By the headings of the help, in its order. */
export const COMMANDS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'The fleet:': {
    overview: async () => (await import('./commands/fleet/show-overview.ts')).showOverview,
    top: async () => (await import('./commands/fleet/top.ts')).topCommand,
    events: async () => (await import('./commands/fleet/list-events.ts')).listEvents,
  },
  'Machines:': {
    import: async () => (await import('./commands/machines/import-machines.ts')).importMachines,
    list: async () => (await import('./commands/machines/list-machines.ts')).listMachines,
    show: async () => (await import('./commands/machines/show-machine.ts')).showMachine,
    register: async () => (await import('./commands/machines/register-machine.ts')).registerMachine,
    update: async () => (await import('./commands/machines/register-machine.ts')).updateMachine,
    reboot: async () => (await import('./commands/machines/lifecycle-command.ts')).reboot,
    reimage: async () => (await import('./commands/machines/lifecycle-command.ts')).reimage,
    'enter-maintenance': async () =>
      (await import('./commands/machines/lifecycle-command.ts')).enterMaintenance,
    'exit-maintenance': async () =>
      (await import('./commands/machines/lifecycle-command.ts')).exitMaintenance,
    power: async () => (await import('./commands/bmc/power-group.ts')).powerGroup,
    locate: async () => (await import('./commands/bmc/locate-machine.ts')).locateMachine,
    'boot-override': async () => (await import('./commands/bmc/boot-override.ts')).bootOverrideGroup,
    explain: async () => (await import('./commands/machines/explain-machine.ts')).explainMachine,
    open: async () => (await import('./commands/machines/open-machine.ts')).openMachine,
    console: async () => (await import('./commands/machines/console-machine.ts')).consoleMachine,
    ssh: async () => (await import('./commands/machines/ssh-machine.ts')).sshMachine,
  },
  'Service:': {
    onboard: async () => (await import('./commands/workflows/service-workflows.ts')).onboardMachine,
    decommission: async () => (await import('./commands/workflows/service-workflows.ts')).decommissionMachine,
    drain: async () => (await import('./commands/workflows/service-workflows.ts')).drainMachine,
    remove: async () => (await import('./commands/workflows/service-workflows.ts')).removeMachine,
    inspect: async () => (await import('./commands/workflows/hardware-workflows.ts')).inspectMachine,
    erase: async () => (await import('./commands/workflows/hardware-workflows.ts')).eraseMachine,
    'erase-certificate': async () =>
      (await import('./commands/hardware/erase-certificate.ts')).showEraseCertificate,
    migrate: async () => (await import('./commands/workflows/hardware-workflows.ts')).migrateMachine,
    service: async () => (await import('./commands/machines/set-service-state.ts')).setServiceState,
  },
  'Operations:': {
    ops: async () => (await import('./commands/operations/short-forms.ts')).ops,
    watch: async () => (await import('./commands/operations/short-forms.ts')).watch,
    logs: async () => (await import('./commands/operations/short-forms.ts')).logs,
    cancel: async () => (await import('./commands/operations/short-forms.ts')).cancel,
  },
  'All commands of a noun:': {
    machine: async () => (await import('./commands/machines/machine-group.ts')).machineGroup,
    op: async () => (await import('./commands/operations/operation-group.ts')).operationGroup,
    rollout: async () => (await import('./commands/rollouts/rollout-group.ts')).rolloutGroup,
    node: async () => (await import('./commands/nodes/node-group.ts')).nodeGroup,
    hardware: async () => (await import('./commands/hardware/hardware-group.ts')).hardwareGroup,
    bmc: async () => (await import('./commands/bmc/bmc-group.ts')).bmcGroup,
    image: async () => (await import('./commands/images/image-group.ts')).imageGroup,
    workflow: async () =>
      (await import('./commands/install-profiles/install-profile-group.ts')).installProfileGroup,
    provider: async () => (await import('./commands/administration/provider-group.ts')).providerGroup,
    pool: async () => (await import('./commands/administration/pool-group.ts')).poolGroup,
    budget: async () => (await import('./commands/budgets/budget-group.ts')).budgetGroup,
    view: async () => (await import('./commands/administration/view-group.ts')).viewGroup,
    event: async () => (await import('./commands/fleet/list-events.ts')).eventGroup,
    maintenance: async () => (await import('./commands/maintenance/maintenance-group.ts')).maintenanceGroup,
    plan: async () => (await import('./commands/runs/plan-group.ts')).planGroup,
    run: async () => (await import('./commands/runs/run-group.ts')).runGroup,
  },
  'Access:': {
    login: async () => (await import('./commands/access/login.ts')).loginCommand,
    logout: async () => (await import('./commands/access/logout.ts')).logoutCommand,
    whoami: async () => (await import('./commands/access/whoami.ts')).whoamiCommand,
  },
  'Administration:': {
    flag: async () => (await import('./commands/machines/flag-machine.ts')).flagMachine,
    unflag: async () => (await import('./commands/machines/flag-machine.ts')).unflagMachine,
    clear: async () => (await import('./commands/machines/flag-machine.ts')).clearMachine,
    identity: async () => (await import('./commands/administration/identity-group.ts')).identityGroup,
    session: async () => (await import('./commands/administration/session-group.ts')).sessionGroup,
    token: async () => (await import('./commands/administration/token-group.ts')).tokenGroup,
    audit: async () => (await import('./commands/audit/audit-group.ts')).auditGroup,
  },
  'This program:': {
    suggest: async () => (await import('./commands/program/suggest-filter.ts')).suggestFilter,
  },
};

/** The second names of commands at the top. */
export const ALIASES: Readonly<Record<string, string>> = { get: 'show', operation: 'op', hw: 'hardware' };
