/**
 * One step on each of many machines, as a rollout. The machines are the fixed list that was shown and confirmed, whatever the
 * filter would match by now. Each machine has one result line; a refusal does not stop the others. The rollout goes on without
 * the command that started it.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Reason } from '../../domain/error/reason.ts';
import {
  type Rollout,
  RolloutMachine_State,
  RolloutMachineSchema,
  type RolloutPreview,
  type RolloutSpecSchema,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { CallError } from '../connection/call-error.ts';
import { type Exit, worstExit } from '../errors/exit-code.ts';
import type { Selection } from '../input/machine-selection.ts';
import type { PaceOptions } from '../input/rollout-limits.ts';
import type { StepChoice } from '../input/rollout-steps.ts';
import type { OperationSource } from '../operations/operation-source.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { cutTo, plainText } from '../output/plain-text.ts';
import { writePreviewed } from '../rendering/preview-rendering.ts';
import { rolloutRendering } from '../rendering/rollout-rendering.ts';
import { createRollout } from './create-rollout.ts';
import { followRollout, reconnectTo } from './follow-rollout.ts';
import { MachineLines } from './machine-lines.ts';
import { exitOfRollout, isSettled, rolloutState } from './rollout-state.ts';
import { writeHowToGoOn } from './write-how-to-go-on.ts';

const LONGEST_NAME = 100;

export interface BulkOptions extends PaceOptions {
  readonly output: OutputFormat;
  readonly wait: boolean;
  readonly timeout: number;
  readonly reason?: string;
  readonly overrideBudget?: boolean;
}

export interface Bulk {
  readonly context: CommandContext;
  readonly api: Api;
  readonly source: OperationSource;
  readonly verb: string;
  readonly selection: Selection;
  readonly step: StepChoice;
  readonly requestId: string;
  readonly options: BulkOptions;
}

export async function startOnMany(bulk: Bulk): Promise<Exit> {
  const { context, api, requestId, options } = bulk;
  const spec = specOf(bulk);
  try {
    const rollout = await createRollout(context, api, { spec, requestId });
    context.err.line(`rollout: ${plainText(rollout.rolloutId)}`);
    return options.wait ? await followEach(bulk, rollout) : writeStarted(bulk, rollout);
  } catch (error) {
    if (!(error instanceof CallError) || error.reason !== ('NO_ELIGIBLE_MACHINES' satisfies Reason))
      throw error;
    return refuseAll(bulk, await api.rollouts.previewRollout({ spec }));
  }
}

/** The answer of --dry-run, which the server works out as for a rollout. */
export async function previewOnMany(asked: Omit<Bulk, 'source' | 'requestId'>): Promise<Exit> {
  const { context, api, options } = asked;
  const preview = await api.rollouts.previewRollout({ spec: specOf(asked) });
  const exit = writePreviewed(context, options.output, preview);
  context.err.line('nothing was done');
  return exit;
}

/** Each machine has its line also where none of them can start. */
function refuseAll(bulk: Bulk, { ineligible }: RolloutPreview): Promise<Exit> {
  const lines = machineLines(bulk);
  for (const { errorCode, message, machineIds } of ineligible) {
    const state = RolloutMachine_State.INELIGIBLE;
    lines.refuseAll(
      machineIds.map((machineId) => create(RolloutMachineSchema, { machineId, state, errorCode, message })),
    );
  }
  return lines.close();
}

const machineLines = ({ context, api, source, selection, options }: Bulk): MachineLines =>
  new MachineLines({ context, api, source, machineIds: selection.machineIds, output: options.output });

function specOf({
  verb,
  selection,
  step,
  options,
}: Omit<Bulk, 'source' | 'requestId'>): MessageInitShape<typeof RolloutSpecSchema> {
  const { waves = [], maxParallel = '', stopAfterFailures, reason = '', overrideBudget = false } = options;
  const what = verb.replace(/ on$/, '');
  return {
    name: cutTo(selection.criterion === undefined ? what : `${what}: ${selection.criterion}`, LONGEST_NAME),
    machineIds: [...selection.machineIds],
    steps: [{ step }],
    waves: [...waves],
    maxParallel,
    ...(stopAfterFailures !== undefined && { stop: { afterFailures: stopAfterFailures } }),
    reason,
    overrideBudget,
  };
}

async function followEach(bulk: Bulk, rollout: Rollout): Promise<Exit> {
  const { context, api, options } = bulk;
  const display = machineLines(bulk);
  return context.interruptible(async (interrupted) => {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(options.timeout)]);
    const reconnect = reconnectTo(context, api, rollout.rolloutId, display);
    const latest = await followRollout({ api, rollout, display, signal, reconnect });
    const exit = await reconnect
      .persist(() => display.close(), signal)
      .catch((error: unknown) => {
        writeHowToGoOn(context, latest);
        throw error;
      });
    if (isSettled(latest) && rolloutState(latest) !== 'STOPPED') return exit;
    writeHowToGoOn(context, latest);
    return worstExit([exit, exitOfRollout(latest)]);
  });
}

function writeStarted({ context, options }: Bulk, rollout: Rollout): Exit {
  writeOne(context.out, options.output, rolloutRendering(context.now()), rollout, () =>
    context.out.line(`Rollout: ${plainText(rollout.rolloutId)} ${rolloutState(rollout)}`),
  );
  context.err.line(`  follow: ${context.program} rollout watch ${plainText(rollout.rolloutId)}`);
  return 'ok';
}
