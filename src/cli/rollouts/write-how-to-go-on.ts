import type { Rollout } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { plainText } from '../output/plain-text.ts';
import { rolloutState } from './rollout-state.ts';

/** The commands for a rollout that has not ended when the command that follows it ends. */
export function writeHowToGoOn({ program, err }: CommandContext, rollout: Rollout): void {
  const id = plainText(rollout.rolloutId);
  const command = (verb: string): string => `${program} rollout ${verb} ${id}`;
  if (rolloutState(rollout) === 'STOPPED') {
    err.line(`${id} is stopped: ${plainText(rollout.reason)}`);
    err.line(`  look: ${command('show')}`);
    const hasFailures = (rollout.machines?.failed ?? 0) > 0;
    if (hasFailures) err.line(`  retry what failed: ${command('retry')}`);
    err.line(`  go on${hasFailures ? ' without it' : ''}: ${command('resume')}`);
    err.line(`  end it: ${command('abort')}`);
    return;
  }
  err.line(`${id} continues on the server`);
  err.line(`  follow: ${command('watch')}`);
  err.line(`  pause: ${command('pause')}`);
  err.line(`  abort: ${command('abort')}`);
}
