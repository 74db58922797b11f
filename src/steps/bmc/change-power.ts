import { z } from 'zod';
import {
  POWER_REQUEST_NAMES,
  POWER_REQUESTS,
  type PowerRequest,
} from '../../domain/hardware/power-request.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import {
  type StepContext,
  StepFailure,
  type StepHandler,
  wasNotCarriedOut,
} from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, type StepKind } from '../step-kind.ts';

const config = z.object({ action: z.enum(POWER_REQUEST_NAMES) });
type Config = z.output<typeof config>;
type Handler = StepHandler<MachineChange>;
type Environment = StepEnvironment<'bmc'>;

const POLL_AFTER_MS = 1_000;
/** How long a BMC may take to obey; it is not asked again before. */
const OBEYS_WITHIN_MS = 10_000;

/** The power of a machine, as a person asked for it. The log says what was sent, and what the BMC offers. */
export const changePower: StepKind<Config, 'bmc'> = {
  kind: 'power',
  needs: () => ['bmc'],
  config: config as z.ZodType<Config>,
  title: 'Changing the power',
  doneTitle: 'Power changed',
  canUndo: false,
  handler: ({ action }, environment) => {
    const { endsIn } = POWER_REQUESTS[action];
    if (endsIn !== null) return untilItIs(endsIn, action, environment);
    return action === 'cycle' ? cycle(environment) : once(action, environment);
  },
};

/** What ends in a power that can be seen may be asked for again. */
function untilItIs(
  endsIn: 'on' | 'off',
  request: PowerRequest,
  { machine, capabilities: { bmc } }: Environment,
): Handler {
  // An operating system that was asked to go down takes its time, and asking again may stop it at once.
  const obeysWithinMs = request === 'shutdown' ? Number.POSITIVE_INFINITY : OBEYS_WITHIN_MS;
  const reason = `waiting for the power to be ${endsIn}`;
  return {
    async observe(context) {
      if ((await bmc.power(callOf(context, machine))) === endsIn)
        return { seen: 'done', message: `the power is ${endsIn}`, ...changeOf(endsIn) };
      const { asked, at } = context.memo;
      const mayObey = asked === context.attempt && context.now().getTime() - Number(at) < obeysWithinMs;
      return mayObey ? { seen: 'under_way', reason, pollAfterMs: POLL_AFTER_MS } : { seen: 'absent' };
    },
    async act(context) {
      await context.effect(() => bmc.changePower(callOf(context, machine), request));
      // Remembered afterwards: asking again is harmless, and a step must not wait for what it never asked for.
      await context.save({ asked: context.attempt, at: context.now().getTime() });
      return { result: 'started', reason, pollAfterMs: 0 };
    },
  };
}

function changeOf(power: 'on' | 'off'): { readonly change?: MachineChange } {
  if (power === 'on') return {};
  const message = 'switched off by an operator';
  return { change: { conditions: [{ type: 'Reachable', status: false, reason: 'PoweredOff', message }] } };
}

const INTERRUPTED = {
  class: 'effect_unknown',
  code: 'EFFECT_UNKNOWN',
  message: 'the reset was sent and its end was not seen: it may be done or not done',
} as const;

/** Nothing of the machine shows that it was done, so it is never sent again by itself. */
function once(request: PowerRequest, { machine, capabilities: { bmc } }: Environment): Handler {
  return {
    async observe(context) {
      return { seen: 'unobservable', failure: context.memo.sent === undefined ? null : INTERRUPTED };
    },
    async act(context) {
      await context.save({ sent: context.attempt });
      await context
        .effect(() => bmc.changePower(callOf(context, machine), request))
        .catch((error: unknown) => forgetUnsent(context, error));
      return { result: 'done', message: `the BMC has accepted ${request}` };
    },
  };
}

/** A BMC that was not reached, or that refused, has done nothing: the next attempt may send it. */
async function forgetUnsent(context: StepContext, error: unknown): Promise<never> {
  const isRefused = error instanceof StepFailure && error.outage === null;
  if (wasNotCarriedOut(error) || isRefused) await context.save({});
  throw context.signal.aborted && !isRefused ? new StepFailure(INTERRUPTED) : error;
}

/** By one command where the BMC has it and the machine is on, and otherwise off, seen, and on. */
function cycle(environment: Environment): Handler {
  const { machine, capabilities } = environment;
  const { bmc } = capabilities;
  const byCommand = once('cycle', environment);
  return {
    async observe(context) {
      const { to, at } = context.memo;
      if (to === undefined) return byCommand.observe(context);
      const power = await bmc.power(callOf(context, machine));
      if (power === to)
        return to === 'on'
          ? { seen: 'done', message: 'the power was switched off and on' }
          : { seen: 'absent', next: true };
      const mayObey = context.now().getTime() - Number(at) < OBEYS_WITHIN_MS;
      const reason = `waiting for the power to be ${to}`;
      return mayObey ? { seen: 'under_way', reason, pollAfterMs: POLL_AFTER_MS } : { seen: 'absent' };
    },
    async act(context) {
      const call = callOf(context, machine);
      const power = await bmc.power(call);
      if (context.memo.to === undefined && power === 'on') {
        if (await bmc.offersPower(call, 'cycle')) return byCommand.act(context);
        context.log('The BMC offers no power cycle: the power is switched off and on');
      }
      const to = power === 'off' ? 'on' : 'off';
      await context.save({ to, at: context.now().getTime() });
      await context.effect(() => bmc.changePower(call, to));
      return { result: 'started', reason: `waiting for the power to be ${to}`, pollAfterMs: POLL_AFTER_MS };
    },
  };
}
