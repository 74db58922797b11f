/**
 * A reboot made of two commands that may be repeated and whose effects can be seen: power off, then power on. What is
 * asked for is remembered before each command, and asked for again if the machine is not seen in that power state
 * after a while; so a replica that takes over after a crash goes on, and never starts a second reboot.
 *
 * Once the power is being switched, a BMC that refuses for the moment is waited for: to fail and to start again would
 * switch the machine off once more, and use up what was set for one boot.
 */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import { type StepContext, StepFailure, type StepHandler } from '../../engine/step-handler.ts';
import type { BootState } from '../../providers/provider.ts';
import { callOf, type StepEnvironment, undoCallOf } from '../step-kind.ts';

export const CAME_BACK: MachineChange = {
  conditions: [
    { type: 'Reachable', status: true, reason: 'RebootVerified', message: 'came back after a reboot' },
  ],
};

interface Switching {
  readonly to: 'on' | 'off';
  /** Which boot it was in, where that was known: then it is done when the host is up in another one. */
  readonly bootIdBefore: string | null;
  readonly askedAt: number;
}

const POLL_AFTER_MS = 1_000;
const BMC_AWAY_MS = 5_000;
/** How long a BMC may take to obey; it is not asked again before. */
const OBEYS_WITHIN_MS = 10_000;

export function rebootBySwitching({
  machine,
  capabilities,
}: StepEnvironment<'power'>): StepHandler<MachineChange> {
  const { power } = capabilities;
  return {
    async observe(context) {
      const switching = switchingOf(context);
      if (!switching) return { seen: 'absent' };
      const call = callOf(context, machine);
      const boot = await unlessAway(() => power.bootState(call));
      if (typeof boot === 'string') return { seen: 'under_way', reason: boot, pollAfterMs: BMC_AWAY_MS };
      if (boot.power !== switching.to) {
        const reason = `waiting for the power to be ${switching.to}`;
        const mayStillObey = msSince(switching, context) < OBEYS_WITHIN_MS;
        return mayStillObey ? { seen: 'under_way', reason, pollAfterMs: POLL_AFTER_MS } : { seen: 'absent' };
      }
      // Seen off: on with it.
      return switching.to === 'off' ? { seen: 'absent', next: true } : verdictOnHost(switching, boot);
    },

    async act(context) {
      const call = callOf(context, machine);
      const before = switchingOf(context);
      const boot = before ? await unlessAway(() => power.bootState(call)) : await power.bootState(call);
      if (typeof boot === 'string') return { result: 'started', reason: boot, pollAfterMs: BMC_AWAY_MS };
      // On again at the first sight of off: also a machine that was off to begin with.
      const to = boot.power === 'off' ? 'on' : (before?.to ?? 'off');
      const bootIdBefore = before ? before.bootIdBefore : boot.bootId;
      const switching: Switching = { to, bootIdBefore, askedAt: context.now().getTime() };
      await context.save({ switching });
      const away = await unlessAway(() => context.effect(() => switchTo(context, to)));
      const reason = away ?? `waiting for the power to be ${to}`;
      return { result: 'started', reason, pollAfterMs: POLL_AFTER_MS };
    },

    /** A machine is not left off because its reboot was canceled half-way. */
    async undo(context) {
      const switching = switchingOf(context);
      if (!switching) return { result: 'done', message: 'the power was not touched' };
      const call = undoCallOf(context, machine);
      const reason = 'waiting for the power to be on';
      const waiting = { result: 'started', reason, pollAfterMs: POLL_AFTER_MS } as const;
      if ((await power.bootState(call)).power === 'off') {
        if (switching.to === 'on' && msSince(switching, context) < OBEYS_WITHIN_MS) return waiting;
        await context.save({ switching: { ...switching, to: 'on', askedAt: context.now().getTime() } });
        await context.effect(async () => power.switchPower?.(call, 'on'));
        return waiting;
      }
      // It may still be about to go off.
      if (switching.to === 'off' && msSince(switching, context) < OBEYS_WITHIN_MS) return waiting;
      return { result: 'done', message: 'the power is on' };
    },
  };

  async function switchTo(context: StepContext, to: Switching['to']): Promise<null> {
    await power.switchPower?.(callOf(context, machine), to);
    return null;
  }
}

function switchingOf({ memo }: StepContext): Switching | undefined {
  return memo.switching as Switching | undefined;
}

function msSince({ askedAt }: Switching, context: StepContext): number {
  return context.now().getTime() - askedAt;
}

type Verdict = Awaited<ReturnType<StepHandler<MachineChange>['observe']>>;

function verdictOnHost({ bootIdBefore }: Switching, boot: BootState): Verdict {
  // The power was seen off and is on again. Whether the host comes up is not known, and not claimed.
  if (bootIdBefore === null) return { seen: 'done', message: 'the power was switched off and on' };
  if (boot.bootId === null) {
    const reason = 'waiting for the machine to come back';
    return { seen: 'under_way', reason, pollAfterMs: boot.pollAfterMs };
  }
  if (boot.bootId !== bootIdBefore) {
    return { seen: 'done', message: 'the machine is back', change: CAME_BACK };
  }
  const message =
    "the power was switched off and on, and the host went on running: its spec.bmc_endpoint is another machine's";
  return { seen: 'failed', failure: { class: 'needs_human', code: 'BMC_MISMATCH', message } };
}

/** The answer, or why it is refused at this moment. One that does not come at all is for the engine to wait for. */
async function unlessAway<T>(ask: () => Promise<T>): Promise<T | string> {
  try {
    return await ask();
  } catch (error) {
    const isRefusal = error instanceof StepFailure && error.outage === null;
    if (isRefusal && error.failure.class === 'retryable') return error.failure.message;
    throw error;
  }
}
