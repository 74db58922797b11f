import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepHandler } from '../../engine/step-handler.ts';
import { changeSeen, drainNode } from '../cluster/drain-node.ts';
import { callOf, type StepEnvironment, type StepKind } from '../step-kind.ts';

const config = z.object({ action: z.enum(['drain-check', 'graceful-shutdown', 'mark-rma']) });
type Config = z.output<typeof config>;
type Handler = StepHandler<MachineChange>;

/**
 * Nothing may run on a machine that is about to be switched off. What runs on it is asked of its cluster, whatever its
 * conditions say: they do not change while an operation is active. A node that its cluster has lost keeps no machine
 * from being returned: it is cordoned, and its cluster moves elsewhere what it carried.
 */
function drainCheck(environment: StepEnvironment<never>): Handler {
  const { machine, capabilities } = environment;
  const clusterRef = machine.spec.target_cluster_ref;
  const { cluster } = capabilities;
  if (clusterRef === '') return nothingToDrain('nothing runs on the machine: it belongs to no cluster');
  if (cluster === undefined)
    return nothingToDrain('nothing is known to run on the machine: its provider knows no clusters');
  const withCluster = { ...environment, capabilities: { ...capabilities, cluster } };
  return drainNode(withCluster, clusterRef, {
    absent: (sight) => ({
      seen: 'done',
      message: `nothing runs on the machine: ${clusterRef} has no node ${sight.name}`,
      change: changeSeen(withCluster, sight),
    }),
    lost: 'goes_on',
  });
}

function nothingToDrain(message: string): Handler {
  return {
    observe: async () => ({ seen: 'done', message }),
    act: async () => ({ result: 'done', message }),
    undo: async () => ({ result: 'done', message }),
  };
}

function gracefulShutdown({ machine, capabilities }: StepEnvironment<'power'>): Handler {
  return {
    async observe(context) {
      const boot = await capabilities.power.bootState(callOf(context, machine));
      if (boot.power === 'off') {
        const message = 'switched off for RMA';
        const conditions = [{ type: 'Reachable', status: false, reason: 'PoweredOff', message }] as const;
        return { seen: 'done', message: 'the machine is off', change: { conditions } };
      }
      if (context.memo.asked !== context.attempt) return { seen: 'absent' };
      const pollAfterMs = Math.max(20, boot.pollAfterMs);
      return { seen: 'under_way', reason: 'waiting for the machine to go down', pollAfterMs };
    },
    async act(context) {
      // Remembered afterwards: asking again is harmless, and a step must not wait for what it never asked for.
      await context.effect(() => capabilities.power.shutDown(callOf(context, machine)));
      await context.save({ asked: context.attempt });
      return { result: 'started', reason: 'waiting for the machine to go down', pollAfterMs: 0 };
    },
  };
}

function markRma(): Handler {
  const change: MachineChange = {
    conditions: [{ type: 'RMA', status: true, reason: 'RmaRun', message: 'taken out by an RMA run' }],
  };
  const done = { message: 'flagged RMA', change };
  return {
    observe: async () => ({ seen: 'done', ...done }),
    act: async () => ({ result: 'done', ...done }),
  };
}

const HANDLERS = {
  'drain-check': drainCheck,
  'graceful-shutdown': gracefulShutdown,
  'mark-rma': markRma,
} as const satisfies Record<Config['action'], (environment: StepEnvironment<'power'>) => Handler>;

export const rmaAction: StepKind<Config, 'power'> = {
  kind: 'rma',
  needs: ({ action }) => (action === 'graceful-shutdown' ? ['power'] : []),
  mayUse: ({ action }, { spec }) =>
    action === 'drain-check' && spec.target_cluster_ref !== '' ? ['cluster'] : [],
  config: config as z.ZodType<Config>,
  title: 'Preparing for RMA',
  doneTitle: 'RMA step done',
  canUndo: ({ action }) => action === 'drain-check',
  handler: ({ action }, environment) => HANDLERS[action](environment),
};
