/**
 * The stages of the workflows (docs/maas.md). A stage is a step of an operation: it probes first, adopts what is done, and acts
 * only where something is missing. Stages are not states of the machine.
 */

interface StageInfo {
  readonly title: string;
  readonly timeoutSeconds: number;
  readonly maxRetries: number;
  readonly undo: Undo;
}

/** What a cancel or a clean restart undoes of the stage, or why its effect stays. */
type Undo = { readonly does: string } | { readonly stays: string };

export const ONBOARDING_STAGES = {
  load_site_config: {
    title: "Loading the site's configuration",
    timeoutSeconds: 60,
    maxRetries: 2,
    undo: { stays: 'it only reads' },
  },
  resolve_power_credentials: {
    title: 'Resolving power credentials',
    timeoutSeconds: 60,
    maxRetries: 2,
    undo: { stays: 'it only reads' },
  },
  create_or_find_in_maas: {
    title: 'Finding the machine in MAAS',
    timeoutSeconds: 300,
    maxRetries: 3,
    undo: { does: 'deletes the record in MAAS, if this operation added it and it is not in use' },
  },
  commission_node: {
    title: 'Commissioning',
    timeoutSeconds: 300,
    maxRetries: 3,
    undo: { does: 'aborts a commissioning that it started' },
  },
  wait_for_ready: {
    title: 'Waiting for MAAS to be ready',
    timeoutSeconds: 3600,
    maxRetries: 1,
    undo: { does: 'aborts a commissioning that it started' },
  },
  configure_storage: {
    title: 'Configuring storage',
    timeoutSeconds: 300,
    maxRetries: 3,
    undo: { stays: 'a layout touches no disk before the deployment, and the next onboarding sets it again' },
  },
  apply_roce_phase2: {
    title: 'Applying the RoCE configuration',
    timeoutSeconds: 600,
    maxRetries: 3,
    undo: { stays: 'it belongs to the site' },
  },
  ensure_pxe_interface_auto: {
    title: 'Setting the PXE interface to AUTO',
    timeoutSeconds: 300,
    maxRetries: 3,
    undo: { stays: 'it is the setting that the interface should have' },
  },
  render_cloud_init: {
    title: 'Rendering cloud-init',
    timeoutSeconds: 60,
    maxRetries: 2,
    undo: { stays: 'it only renders' },
  },
  deploy_via_maas: {
    title: 'Deploying',
    timeoutSeconds: 300,
    maxRetries: 3,
    undo: {
      does: "revokes the agent's token; aborts the deployment that it started, and releases the machine",
    },
  },
  wait_for_deployed: {
    title: 'Waiting for the deployment',
    timeoutSeconds: 7200,
    maxRetries: 0,
    undo: { stays: 'it only reads' },
  },
  classify_deploy_failure: {
    title: 'Classifying a failed deployment',
    timeoutSeconds: 120,
    maxRetries: 2,
    undo: { stays: 'it only reads' },
  },
  recover_for_datasource_retry: {
    title: 'Recovering from a datasource failure',
    timeoutSeconds: 14_400,
    maxRetries: 0,
    undo: { does: 'as deploy_via_maas, where it deployed again' },
  },
  ensure_hardware_sync_configured: {
    title: 'Checking hardware sync',
    timeoutSeconds: 120,
    maxRetries: 2,
    undo: { stays: 'it only reads' },
  },
  wait_for_hardware_sync_healthy: {
    title: 'Waiting for hardware sync',
    timeoutSeconds: 3600,
    maxRetries: 0,
    undo: { stays: 'it only reads' },
  },
  wait_for_agent_enrollment: {
    title: 'Waiting for the agent',
    timeoutSeconds: 3600,
    maxRetries: 0,
    undo: { stays: "it only reads; the agent's token is revoked with the deployment" },
  },
} as const satisfies Record<string, StageInfo>;

export const DECOMMISSION_STAGES = {
  disable_node: {
    title: 'Taking the node out of scheduling',
    timeoutSeconds: 60,
    maxRetries: 3,
    undo: {
      stays: 'the end of the operation leaves the node offline, retired or quarantined, by how far it came',
    },
  },
  force_release_allocations: {
    title: 'Releasing allocations',
    timeoutSeconds: 600,
    maxRetries: 3,
    undo: { stays: 'released workloads do not come back' },
  },
  drain_node: {
    title: 'Draining',
    timeoutSeconds: 3600,
    maxRetries: 1,
    undo: { stays: 'released workloads do not come back' },
  },
  cleanup_storage: {
    title: 'Cleaning up storage',
    timeoutSeconds: 3600,
    maxRetries: 1,
    undo: { stays: 'what is wiped does not come back' },
  },
  scrub_gpu: {
    title: 'Scrubbing GPUs',
    timeoutSeconds: 1800,
    maxRetries: 1,
    undo: { stays: 'what is wiped does not come back' },
  },
  validate_clean_node: {
    title: 'Validating that the node is clean',
    timeoutSeconds: 600,
    maxRetries: 1,
    undo: { stays: 'it only reads' },
  },
  load_site_config: ONBOARDING_STAGES.load_site_config,
  release_maas_node: {
    title: 'Releasing the machine in MAAS',
    timeoutSeconds: 7200,
    maxRetries: 1,
    undo: { stays: 'what is erased does not come back; onboard the node again' },
  },
  power_off_maas_node: {
    title: 'Switching the machine off',
    timeoutSeconds: 600,
    maxRetries: 3,
    undo: { stays: 'MAAS switches it on when it deploys it' },
  },
  retire_gpuaas_node: {
    title: 'Retiring the node',
    timeoutSeconds: 60,
    maxRetries: 3,
    undo: { stays: 'a person brings a retired node back' },
  },
  remove_gpuaas_node_record: {
    title: "Removing the node's record",
    timeoutSeconds: 60,
    maxRetries: 3,
    undo: { stays: 'deleted is for good; one that is still removing is retired at the end' },
  },
  cleanup_secrets: {
    title: "Removing the node's secrets",
    timeoutSeconds: 60,
    maxRetries: 3,
    undo: { stays: 'a deleted token is replaced, not restored' },
  },
  remove_maas_record: {
    title: 'Removing the record in MAAS',
    timeoutSeconds: 300,
    maxRetries: 3,
    undo: { stays: 'the next onboarding adds it' },
  },
} as const satisfies Record<string, StageInfo>;

/** A node is drained when the last of these is done. */
export const DRAINING_STAGES = [
  'disable_node',
  'force_release_allocations',
  'drain_node',
] as const satisfies readonly DecommissionStage[];

/** A failure in one of these may leave data of the last tenant on the node. */
export const CLEANUP_STAGES = [
  'cleanup_storage',
  'scrub_gpu',
  'validate_clean_node',
] as const satisfies readonly DecommissionStage[];

/** While one of these runs, the service state of the node is removing. */
export const UNINSTALL_STAGES = [
  'cleanup_secrets',
  'remove_maas_record',
  'remove_gpuaas_node_record',
] as const satisfies readonly DecommissionStage[];

/** Stages that a hook of the site carries out, where one is configured. */
export const HOOKED_STAGES = [
  'apply_roce_phase2',
  'force_release_allocations',
  'drain_node',
  'cleanup_storage',
  'scrub_gpu',
  'validate_clean_node',
] as const;

export type OnboardingStage = keyof typeof ONBOARDING_STAGES;
export type DecommissionStage = keyof typeof DECOMMISSION_STAGES;
export type StageName = OnboardingStage | DecommissionStage;

export const STAGES: Readonly<Record<StageName, StageInfo>> = {
  ...ONBOARDING_STAGES,
  ...DECOMMISSION_STAGES,
};
export function isUndone(stage: StageName): boolean {
  return 'does' in STAGES[stage].undo;
}

export const STAGE_NAMES = Object.keys(STAGES) as StageName[];

export const ONBOARDING = Object.keys(ONBOARDING_STAGES) as OnboardingStage[];

/** What each mode is for, and which of the stages it uses. */
export const DECOMMISSION_MODES = {
  soft_reset: {
    purpose: 'clean the node between two tenants; it stays deployed and comes back by its own keepalives',
    stages: [
      'disable_node',
      'force_release_allocations',
      'drain_node',
      'cleanup_storage',
      'scrub_gpu',
      'validate_clean_node',
    ],
  },
  storage_cleanup: {
    purpose: 'clean its storage only; it stays deployed and comes back by its own keepalives',
    stages: ['disable_node', 'drain_node', 'cleanup_storage', 'validate_clean_node'],
  },
  reimage: {
    purpose:
      'erase the machine and release it in MAAS; the node is retired, keeps its identity and can be onboarded again',
    stages: [
      'disable_node',
      'force_release_allocations',
      'drain_node',
      'cleanup_storage',
      'scrub_gpu',
      'load_site_config',
      'release_maas_node',
      'retire_gpuaas_node',
    ],
  },
  full_decommission: {
    purpose: 'take the machine out of the inventory and out of MAAS for good',
    stages: [
      'disable_node',
      'force_release_allocations',
      'drain_node',
      'cleanup_storage',
      'scrub_gpu',
      'validate_clean_node',
      'load_site_config',
      'release_maas_node',
      'power_off_maas_node',
      'retire_gpuaas_node',
      'cleanup_secrets',
      'remove_maas_record',
      'remove_gpuaas_node_record',
    ],
  },
} as const satisfies Record<string, { purpose: string; stages: readonly DecommissionStage[] }>;

export type DecommissionMode = keyof typeof DECOMMISSION_MODES;
export const DECOMMISSION_MODE_NAMES = Object.keys(DECOMMISSION_MODES) as DecommissionMode[];

/** The stages of `drain` and `remove`. */
export const DRAIN_STAGES = [
  'disable_node',
  'force_release_allocations',
  'drain_node',
  'retire_gpuaas_node',
] as const satisfies readonly DecommissionStage[];
export const REMOVE_STAGES = [
  'cleanup_secrets',
  'remove_gpuaas_node_record',
] as const satisfies readonly DecommissionStage[];
