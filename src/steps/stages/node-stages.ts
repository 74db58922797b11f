/** The stages that work on the node itself: its place in the inventory, its workloads, its agent. */
import type { DecommissionStage } from '../../domain/workflow/stage.ts';
import { callOf, type StepEnvironment } from '../step-kind.ts';
import { hooked } from './site-hook.ts';
import { ABSENT, done, type StageHandler, underWay } from './stage-result.ts';

export type NodeStage = Extract<
  DecommissionStage,
  | 'disable_node'
  | 'force_release_allocations'
  | 'drain_node'
  | 'cleanup_storage'
  | 'scrub_gpu'
  | 'validate_clean_node'
  | 'retire_gpuaas_node'
  | 'remove_gpuaas_node_record'
  | 'cleanup_secrets'
>;

type NodeStepEnvironment = StepEnvironment<never>;

export const NODE_STAGES: Readonly<Record<NodeStage, (environment: NodeStepEnvironment) => StageHandler>> = {
  disable_node: ({ machine }) => ({
    async observe() {
      const { service } = machine;
      if (service === 'active' || service === 'offline' || service === 'quarantined') return ABSENT;
      return done(service === null ? 'it is in no service' : `it is ${service}: not schedulable`);
    },
    async act() {
      const service = { to: 'draining', owner: 'admin', from: ['active', 'offline', 'quarantined'] } as const;
      return { result: 'done', message: 'draining', change: { service } };
    },
  }),

  force_release_allocations: (environment) => hooked(environment, 'force_release_allocations'),
  cleanup_storage: (environment) => hooked(environment, 'cleanup_storage'),
  scrub_gpu: (environment) => hooked(environment, 'scrub_gpu'),

  drain_node: (environment) => drained(environment, 'drain_node', 'workloads are leaving'),
  validate_clean_node: (environment) =>
    drained(environment, 'validate_clean_node', 'the node is not clean yet'),

  retire_gpuaas_node: ({ machine }) => ({
    async observe() {
      return machine.service === 'draining' ? ABSENT : done(`it is ${machine.service ?? 'in no service'}`);
    },
    async act() {
      const service = { to: 'retired', owner: 'drain', from: ['draining'] } as const;
      return { result: 'done', message: 'retired', change: { service } };
    },
  }),

  remove_gpuaas_node_record: ({ machine }) => ({
    async observe() {
      if (machine.service === 'deleted') return done('it is out of the inventory');
      return machine.service === 'removing' ? { seen: 'absent', next: true } : ABSENT;
    },
    async act() {
      if (machine.service === 'retired') {
        const service = { to: 'removing', owner: 'removal' } as const;
        return { result: 'started', reason: 'removing', pollAfterMs: 1, change: { service } };
      }
      const service = { to: 'deleted', owner: 'removal', from: ['removing'] } as const;
      if (machine.service === 'removing') return { result: 'done', message: 'deleted', change: { service } };
      const message = `a node that is ${machine.service ?? 'in no service'} can't be removed; retire it first`;
      return { result: 'failed', failure: { class: 'needs_human', code: 'NOT_RETIRED', message } };
    },
  }),

  cleanup_secrets: ({ machine, controlPlane }) => ({
    async observe(context) {
      // The uninstall starts here, and the node is removing from its first effect on.
      if (machine.service === 'retired') return ABSENT;
      if (context.memo.forgotten === true) return done('no secret of it is kept');
      return machine.service === 'removing' ? { seen: 'absent', next: true } : ABSENT;
    },
    async act(context) {
      if (machine.service === 'retired') {
        const service = { to: 'removing', owner: 'removal' } as const;
        return { result: 'started', reason: 'removing', pollAfterMs: 1, change: { service } };
      }
      await context.effect(() => controlPlane.nodeServices.forgetSecrets(callOf(context, machine)));
      await context.save({ forgotten: true });
      return { result: 'started', reason: 'forgetting its secrets', pollAfterMs: 1 };
    },
  }),
};

/** The site's hook is called, and the agent's own figures must agree: nothing runs on it any more. */
function drained(
  environment: NodeStepEnvironment,
  stage: 'drain_node' | 'validate_clean_node',
  reason: string,
): StageHandler {
  const hook = hooked(environment, stage);
  return {
    async observe(context) {
      const hooked = await hook.observe(context);
      if (hooked.seen !== 'done' && hooked.seen !== 'unobservable') return hooked;
      const load = await environment.controlPlane.nodeServices.workloads(
        callOf(context, environment.machine),
      );
      const isBusy = load !== null && load.workers + load.containers > 0;
      // The agent's report is evidence: an operator can't override it.
      if (hooked.seen === 'unobservable') return isBusy ? ABSENT : hooked;
      if (load === null) return done('no agent reports workloads');
      if (!isBusy) return done('its agent reports no workloads');
      return underWay(context, `${reason}: ${load.workers} workers, ${load.containers} containers`);
    },
    act: (context) => hook.act(context),
  };
}
