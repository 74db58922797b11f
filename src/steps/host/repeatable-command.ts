import { StepFailure } from '../../engine/step-handler.ts';
import type { ProviderCall, RemoteCommand, RemoteExec } from '../../providers/provider.ts';

/** Runs a command that may be run again: after a broken connection the next attempt does all of it. */
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
