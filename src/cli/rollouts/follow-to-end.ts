/** Shows one rollout by its waves until it has ended, and turns its outcome into an exit code. */
import {
  type Rollout,
  type RolloutEvent,
  RolloutEventSchema,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import type { Exit } from '../errors/exit-code.ts';
import { isForPeople, jsonOf, type OutputFormat, writeOne, writeStreamed } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { durationText } from '../output/time-text.ts';
import { rolloutRendering } from '../rendering/rollout-rendering.ts';
import { followRollout, reconnectTo } from './follow-rollout.ts';
import { exitOfRollout, isSettled, rolloutInfo, rolloutState } from './rollout-state.ts';
import { countsText, elapsedMs, machinesText, retryCommand } from './rollout-text.ts';
import { WaveDisplay } from './wave-display.ts';
import { writeHowToGoOn } from './write-how-to-go-on.ts';

export interface EndFollowing {
  readonly context: CommandContext;
  readonly api: Api;
  readonly rollout: Rollout;
  readonly options: { readonly output: OutputFormat; readonly timeout: number };
}

export async function followToEnd({ context, api, rollout, options }: EndFollowing): Promise<Exit> {
  const { output, timeout } = options;
  // In the formats for people the display is the output; otherwise stdout is for the data.
  const sink = isForPeople(output) ? context.out : context.err;
  const display = new WaveDisplay(context, sink);
  return context.interruptible(async (interrupted) => {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(timeout)]);
    const reconnect = reconnectTo(context, api, rollout.rolloutId, display);
    const onEvent = (event: RolloutEvent): void => writeEvent(context, output, event);
    const latest = await followRollout({ api, rollout, display, signal, reconnect, onEvent });
    writeOutcome(context, output, latest);
    return exitOfRollout(latest);
  });
}

/** `jsonl` has every message; the other formats for scripts have the rollout as it is in the end. */
function writeEvent({ out }: CommandContext, output: OutputFormat, event: RolloutEvent): void {
  if (output !== 'jsonl' || event.rollout === undefined) return;
  const rendering = {
    json: () => jsonOf(RolloutEventSchema, event),
    name: () => event.rollout?.rolloutId ?? '',
  };
  writeStreamed(out, output, rendering, event, () => '');
}

function writeOutcome(context: CommandContext, output: OutputFormat, rollout: Rollout): void {
  const { out, program, now } = context;
  const isOver = isSettled(rollout);
  if (output !== 'jsonl')
    writeOne(out, output, rolloutRendering(now()), rollout, () => {
      if (!isOver) return;
      const { mark, colour } = rolloutInfo(rollout);
      const { rolloutId, machines, failures } = rollout;
      const counts = `${machinesText(machines?.total ?? 0)}: ${countsText(machines)}`;
      const name = rollout.spec?.name ? ` (${rollout.spec.name})` : '';
      out.line(
        `${out.colour(`${mark} ${rolloutState(rollout)}`, colour)}  ${plainText(`${rolloutId}${name}  ${counts}  ${durationText(elapsedMs(rollout, now()))}`)}`,
      );
      if (rollout.reason !== '' && rolloutState(rollout) !== 'STOPPED')
        out.line(`  ${plainText(rollout.reason)}`);
      for (const { errorCode, machines: count, exampleMachineId, exampleMessage } of failures) {
        out.line(
          plainText(
            `  ${machinesText(count)} with ${errorCode}, such as ${exampleMachineId}: ${exampleMessage}`,
          ),
        );
        context.err.line(`    retry: ${plainText(retryCommand(program, rolloutId, errorCode))}`);
      }
    });
  if (!isOver || rolloutState(rollout) === 'STOPPED') writeHowToGoOn(context, rollout);
}
