import { Command } from 'commander';
import { allOf, equals } from '../../../client/filter-text.ts';
import { OPERATION_TYPE_NAMES } from '../../../domain/operation/operation-type.ts';
import type { CommandContext } from '../../command-context.ts';
import { followStream } from '../../connection/follow-stream.ts';
import { Reconnect } from '../../connection/reconnect.ts';
import { addExamples, addOutput } from '../../input/options.ts';
import { type OperationSource, probeList } from '../../operations/operation-source.ts';
import { isFinished, type OperationEventView, type OperationView } from '../../operations/operation-view.ts';
import { isForPeople, type OutputFormat, writeStreamed } from '../../output/format.ts';
import { displayWidth, padEnd, plainText } from '../../output/plain-text.ts';
import { clockText } from '../../output/time-text.ts';
import { phaseColour } from '../../rendering/operation-rendering.ts';

interface WatchOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
}

const TYPE_WIDTH = Math.max(...OPERATION_TYPE_NAMES.map(displayWidth));

export function watchFleet(context: CommandContext, source: OperationSource): Command {
  const command = new Command('watch')
    .description(`Stream ${source.noun} events, of one machine or of all, until Ctrl-C`)
    .argument('[machine-id]')
    .option('--filter <filter>', `only those that match, such as type=${source.exampleType}`);
  const path = source.commands.watch;
  addExamples(command, context.program, [
    `${path} machine-1`,
    `${path} --filter type=${source.exampleType} -o json`,
  ]);
  return addOutput(command).action(
    context.action<WatchOptions>(async ({ args: [machineId], options, api }) => {
      // Without this, a mistyped id would be watched forever without output.
      if (machineId !== undefined) await source.machine(api, machineId);
      const filter = allOf([options.filter, machineId && equals('machine_id', machineId)]);
      const reconnect = new Reconnect({
        probe: probeList(source, api),
        notify: (message) => context.err.line(message),
        address: api.address,
      });
      const lines = new EventLines(context, options);
      await context.interruptible(async (signal) => {
        const open = (cursor: string, connection: AbortSignal) =>
          source.watch(api, { filter, cursor }, { signal: connection });
        for await (const event of followStream({ open, reconnect, signal, whenClosed: 'lost' })) {
          lines.write(event);
          await context.out.drained();
        }
      });
      return 'ok';
    }),
  );
}

/** Prints a line for each change of a phase; `wide` also for steps; the data formats every event. */
class EventLines {
  readonly #context: CommandContext;
  readonly #output: OutputFormat;
  /** With a filter, all matching operations are shown; without one, finished ones are left out at the start. */
  readonly #showsHistory: boolean;
  /** The state that was last printed for each active operation. */
  readonly #printed = new Map<string, string>();
  readonly #widths = { machine: 0, id: 0 };

  constructor(context: CommandContext, { output, filter }: WatchOptions) {
    this.#context = context;
    this.#output = output;
    this.#showsHistory = filter !== undefined;
  }

  write(event: OperationEventView): void {
    const { operation } = event;
    if (operation === undefined) return;
    const isHistory = event.kind === 'snapshot' && isFinished(operation);
    if (isHistory && !this.#showsHistory) return;
    if (this.#output === 'table' && !this.#isChanged(operation)) return;
    const rendering = { json: () => event.json(), name: () => operation.id };
    writeStreamed(this.#context.out, this.#output, rendering, event, () => this.#line(event, operation));
  }

  #isChanged(operation: OperationView): boolean {
    const state = stateOf(operation);
    const isChanged = this.#printed.get(operation.id) !== state;
    if (isFinished(operation)) this.#printed.delete(operation.id);
    else this.#printed.set(operation.id, state);
    return isChanged;
  }

  #line(event: OperationEventView, operation: OperationView): string {
    if (!isForPeople(this.#output)) return '';
    const [machine, id] = [plainText(operation.machineId), plainText(operation.id)];
    this.#widths.machine = Math.max(this.#widths.machine, displayWidth(machine));
    this.#widths.id = Math.max(this.#widths.id, displayWidth(id));
    const parts = [
      `[${clockText(event.ts)}] ${padEnd(machine, this.#widths.machine)}`,
      padEnd(id, this.#widths.id),
      padEnd(plainText(operation.type), TYPE_WIDTH),
      this.#context.out.colour(stateOf(operation), phaseColour(operation)),
    ];
    if (this.#output === 'wide') parts.push(plainText(event.step), plainText(event.message));
    return parts.join('  ').trimEnd();
  }
}

function stateOf(operation: OperationView): string {
  return operation.cancelRequested && !isFinished(operation)
    ? `${operation.phase} (canceling)`
    : operation.phase;
}
