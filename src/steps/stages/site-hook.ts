import { callOf, type StepEnvironment } from '../step-kind.ts';
import { done, type StageHandler, started, UNOBSERVABLE } from './stage-result.ts';

/** A stage that the site carries out. */
export function hooked({ machine, controlPlane }: StepEnvironment<never>, stage: string): StageHandler {
  return {
    async observe(context) {
      if (context.memo.hook === 'done') return done('the site says that it is done');
      if (context.memo.hook === 'not_configured')
        return done('no hook is configured for this stage: nothing was done');
      // It has taken the request, and is asked whether it is done.
      return context.memo.hook === 'under_way' ? { ...UNOBSERVABLE, next: true } : UNOBSERVABLE;
    },
    async act(context) {
      const hook = await context.effect(() =>
        controlPlane.nodeServices.hook(callOf(context, machine), stage),
      );
      await context.save({ hook });
      if (hook === 'under_way') return started('the site works on it', 5_000);
      return started('the site has answered', 1);
    },
  };
}
