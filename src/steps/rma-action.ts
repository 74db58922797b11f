import { z } from 'zod';
import { isTrue } from '../domain/condition.ts';
import type { Machine } from '../domain/machine.ts';
import type { MachineChange } from '../domain/machine-change.ts';
import type { StepHandler } from '../engine/step-handler.ts';
import { callOf, type Scene, type StepKind } from './step-kind.ts';

const config = z.object({ action: z.enum(['drain-check', 'graceful-shutdown', 'mark-rma']) });
type Config = z.output<typeof config>;
type Handler = StepHandler<MachineChange>;

const LOOK_AGAIN_MS = 5_000;

/** Out of service by intent, drained by observation, or never in: in each case nothing runs on it. */
function carriesNothing(machine: Machine): boolean {
  const { conditions, phase } = machine;
  return phase === 'MAINTENANCE' || isTrue(conditions, 'Drained') || !isTrue(conditions, 'InCustomerCluster');
}

function drainCheck({ machine }: Scene<'power'>): Handler {
  return {
    async observe() {
      if (carriesNothing(machine)) return { seen: 'done', message: 'nothing runs on the machine' };
      return {
        seen: 'under_way',
        reason: 'waiting for the machine to be drained',
        lookAgainMs: LOOK_AGAIN_MS,
      };
    },
    async act() {
      return { result: 'started', reason: 'nothing to set off', lookAgainMs: LOOK_AGAIN_MS };
    },
  };
}

function gracefulShutdown({ machine, can }: Scene<'power'>): Handler {
  return {
    async observe(context) {
      const boot = await can.power.bootState(callOf(context, machine));
      if (boot.power === 'off') {
        const message = 'switched off for RMA';
        const conditions = [{ type: 'Reachable', status: false, reason: 'PoweredOff', message }] as const;
        return { seen: 'done', message: 'the machine is off', change: { conditions } };
      }
      if (context.memo.asked !== context.attempt) return { seen: 'absent' };
      const lookAgainMs = Math.max(20, boot.lookAgainMs);
      return { seen: 'under_way', reason: 'waiting for the machine to go down', lookAgainMs };
    },
    async act(context) {
      // Remembered afterwards: asking again is harmless, and what was never asked for would be waited for in vain.
      await context.effect(() => can.power.shutDown(callOf(context, machine)));
      await context.save({ asked: context.attempt });
      return { result: 'started', reason: 'waiting for the machine to go down', lookAgainMs: 0 };
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
} as const satisfies Record<Config['action'], (scene: Scene<'power'>) => Handler>;

export const rmaAction: StepKind<Config, 'power'> = {
  kind: 'rma',
  needs: ({ action }) => (action === 'graceful-shutdown' ? ['power'] : []),
  config: config as z.ZodType<Config>,
  title: 'Preparing for RMA',
  doneTitle: 'RMA step done',
  canUndo: false,
  handler: ({ action }, scene) => HANDLERS[action](scene),
};
