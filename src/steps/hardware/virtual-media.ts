import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Observation, StepHandler } from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, type StepKind, undoCallOf } from '../step-kind.ts';

const MAX_URL = 1000;

const config = z
  .object({
    action: z.enum(['insert', 'eject']).default('insert'),
    url: z.string().max(MAX_URL, `must be at most ${MAX_URL} characters`).default(''),
  })
  .superRefine(({ action, url }, issues) => {
    const problem = action === 'insert' ? urlProblem(url) : url === '' ? null : 'is for insert only';
    if (problem !== null) issues.addIssue({ code: 'custom', path: ['url'], message: problem });
  });
type Config = z.output<typeof config>;

function urlProblem(url: string): string | null {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return 'must be an http or https address';
  const { username, password } = new URL(url);
  return username === '' && password === '' ? null : 'must have no user and no password in it';
}

/** The virtual CD drive of the BMC: what is in it is read back. A cancel ejects what the step inserted. */
export const virtualMedia: StepKind<Config, 'media'> = {
  kind: 'media',
  needs: () => ['media'],
  config: config as z.ZodType<Config>,
  title: 'Changing virtual media',
  doneTitle: 'Virtual media changed',
  canUndo: ({ action }) => action === 'insert',
  handler: ({ action, url }, environment) =>
    action === 'insert' ? insertion(url, environment) : ejection(environment),
};

type Environment = StepEnvironment<'media'>;

function insertion(
  url: string,
  { machine, capabilities: { media } }: Environment,
): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const found = await media.inserted(callOf(context, machine));
      if (found.pending) return changing(found.pollAfterMs);
      return found.url === url ? { seen: 'done', message: `${url} is inserted` } : { seen: 'absent' };
    },
    async act(context) {
      await context.effect(() => media.insert(callOf(context, machine), url));
      return { result: 'started', reason: CHANGING, pollAfterMs: 0 };
    },
    async undo(context) {
      const call = undoCallOf(context, machine);
      const found = await media.inserted(call);
      if (found.url !== url && !found.pending) return { result: 'done', message: 'it is not inserted' };
      if (found.pending && context.memo.ejecting === context.attempt)
        return { result: 'started', reason: CHANGING, pollAfterMs: Math.max(20, found.pollAfterMs) };
      await context.save({ ejecting: context.attempt });
      await context.effect(() => media.eject(call));
      return { result: 'started', reason: CHANGING, pollAfterMs: 20 };
    },
  };
}

function ejection({ machine, capabilities: { media } }: Environment): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const found = await media.inserted(callOf(context, machine));
      if (found.pending) return changing(found.pollAfterMs);
      return found.url === null ? { seen: 'done', message: 'the drive is empty' } : { seen: 'absent' };
    },
    async act(context) {
      await context.effect(() => media.eject(callOf(context, machine)));
      return { result: 'started', reason: CHANGING, pollAfterMs: 0 };
    },
  };
}

const CHANGING = 'the virtual media are being changed';

function changing(pollAfterMs: number): Observation<MachineChange> {
  return { seen: 'under_way', reason: CHANGING, pollAfterMs };
}
