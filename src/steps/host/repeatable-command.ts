import { StepFailure } from '../../engine/step-handler.ts';
import type { ProviderCall, RemoteCommand, RemoteExec } from '../../providers/provider.ts';

/** Runs a command that may be run again: a connection that broke on the way is no riddle, the next attempt does it all. */
export async function runRepeatable(
  exec: RemoteExec,
  call: ProviderCall,
  command: RemoteCommand,
): ReturnType<RemoteExec['run']> {
  try {
    return await exec.run(call, command);
  } catch (error) {
    if (!(error instanceof StepFailure) || error.failure.class !== 'effect_unknown') throw error;
    const { message } = error.failure;
    throw new StepFailure({ class: 'retryable', code: 'COMMAND_INTERRUPTED', message });
  }
}
