import { done, type StageHandler, started, UNOBSERVABLE } from './stage-tools.ts';
import { callOf, type Scene } from './step-kind.ts';

/** A stage that the site carries out. */
export function hooked({ machine, can }: Scene<'nodeServices'>, stage: string): StageHandler {
  return {
    async observe(context) {
      if (context.memo.hook === 'done') return done('the site says that it is done');
      if (context.memo.hook === 'not_configured')
        return done('no hook is configured for this stage: nothing was done');
      return UNOBSERVABLE;
    },
    async act(context) {
      const hook = await context.effect(() => can.nodeServices.hook(callOf(context, machine), stage));
      if (hook === 'under_way') return started('the site works on it', 5_000);
      await context.save({ hook });
      return started('the site has answered', 1);
    },
  };
}
