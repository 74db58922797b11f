/**
 * The stages of document 3's workflows. A stage is a step of an operation: it looks first, adopts what is done, and
 * acts only where something is missing. Stages are no states of the machine.
 */

interface StageInfo {
  readonly title: string;
  readonly timeoutSeconds: number;
  readonly maxRetries: number;
}

export const ONBOARDING_STAGES = {
  load_site_config: { title: 'Loading the site’s configuration', timeoutSeconds: 60, maxRetries: 2 },
  resolve_power_credentials: { title: 'Resolving power credentials', timeoutSeconds: 60, maxRetries: 2 },
  create_or_find_in_maas: { title: 'Finding the machine in MAAS', timeoutSeconds: 300, maxRetries: 3 },
  commission_node: { title: 'Commissioning', timeoutSeconds: 300, maxRetries: 3 },
  wait_for_ready: { title: 'Waiting for MAAS to be ready', timeoutSeconds: 3600, maxRetries: 1 },
  configure_storage: { title: 'Configuring storage', timeoutSeconds: 300, maxRetries: 3 },
  apply_roce_phase2: { title: 'Applying the RoCE configuration', timeoutSeconds: 600, maxRetries: 3 },
  ensure_pxe_interface_auto: {
    title: 'Setting the PXE interface to AUTO',
    timeoutSeconds: 300,
    maxRetries: 3,
  },
  render_cloud_init: { title: 'Rendering cloud-init', timeoutSeconds: 60, maxRetries: 2 },
  deploy_via_maas: { title: 'Deploying', timeoutSeconds: 300, maxRetries: 3 },
  wait_for_deployed: { title: 'Waiting for the deployment', timeoutSeconds: 7200, maxRetries: 0 },
  classify_deploy_failure: { title: 'Classifying a failed deployment', timeoutSeconds: 120, maxRetries: 2 },
  recover_for_datasource_retry: {
    title: 'Recovering from a datasource failure',
    timeoutSeconds: 14_400,
    maxRetries: 0,
  },
  ensure_hardware_sync_configured: { title: 'Checking hardware sync', timeoutSeconds: 120, maxRetries: 2 },
  wait_for_hardware_sync_healthy: { title: 'Waiting for hardware sync', timeoutSeconds: 3600, maxRetries: 0 },
  wait_for_agent_enrollment: { title: 'Waiting for the agent', timeoutSeconds: 3600, maxRetries: 0 },
} as const satisfies Record<string, StageInfo>;

export const DECOMMISSION_STAGES = {
  disable_node: { title: 'Taking the node out of scheduling', timeoutSeconds: 60, maxRetries: 3 },
  force_release_allocations: { title: 'Releasing allocations', timeoutSeconds: 600, maxRetries: 3 },
  drain_node: { title: 'Draining', timeoutSeconds: 3600, maxRetries: 1 },
  cleanup_storage: { title: 'Cleaning up storage', timeoutSeconds: 3600, maxRetries: 1 },
  scrub_gpu: { title: 'Scrubbing GPUs', timeoutSeconds: 1800, maxRetries: 1 },
  validate_clean_node: { title: 'Validating that the node is clean', timeoutSeconds: 600, maxRetries: 1 },
  load_site_config: ONBOARDING_STAGES.load_site_config,
  release_maas_node: { title: 'Releasing the machine in MAAS', timeoutSeconds: 7200, maxRetries: 1 },
  power_off_maas_node: { title: 'Switching the machine off', timeoutSeconds: 600, maxRetries: 3 },
  retire_gpuaas_node: { title: 'Retiring the node', timeoutSeconds: 60, maxRetries: 3 },
  remove_gpuaas_node_record: { title: 'Removing the node’s record', timeoutSeconds: 60, maxRetries: 3 },
  cleanup_secrets: { title: 'Removing the node’s secrets', timeoutSeconds: 60, maxRetries: 3 },
  remove_maas_record: { title: 'Removing the record in MAAS', timeoutSeconds: 300, maxRetries: 3 },
} as const satisfies Record<string, StageInfo>;

/** Stages that the site carries out, where it has said how. */
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
    purpose: 'give the machine back to MAAS, erased; the node is retired and keeps its identity',
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

/** The shorter ways out and away: what `drain` and `remove` do. */
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
