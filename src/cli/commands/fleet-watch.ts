import { Command } from 'commander';
import { OPERATION_TYPE_NAMES } from '../../domain/operation-type.ts';
import type { Operation } from '../../gen/baremetal/v2/operation_pb.ts';
import {
  type OperationEvent,
  OperationEvent_Kind,
  OperationEventSchema,
} from '../../gen/baremetal/v2/operation_service_pb.ts';
import type { CommandContext } from '../context.ts';
import { allOf, equals } from '../filter.ts';
import { Reconnect } from '../follow/reconnect.ts';
import { resume } from '../follow/resumable-stream.ts';
import { isFinished, phaseColour, phaseOf, typeOf } from '../operation-rendering.ts';
import { addOutput } from '../options.ts';
import { isForPeople, type OutputFormat, writeStreamed } from '../output/format.ts';
import { displayWidth, padEnd, plainText } from '../output/plain-text.ts';
import { clockText } from '../output/time-text.ts';

interface WatchOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
}

const TYPE_WIDTH = Math.max(...OPERATION_TYPE_NAMES.map(displayWidth));

export function watchFleet(context: CommandContext): Command {
  const command = new Command('watch')
    .description('Stream operation events, of one machine or of all, until Ctrl-C')
    .argument('[machine-id]')
    .option('--filter <filter>', 'for example: type=REIMAGE');
  return addOutput(command).action(
    context.action<WatchOptions>(async ({ args: [machineId], options, api }) => {
      // Without this, a mistyped id would be watched for ever in silence.
      if (machineId !== undefined) await api.machines.getMachine({ machineId });
      const filter = allOf([options.filter, machineId && equals('machine_id', machineId)]);
      const reconnect = new Reconnect({
        probe: (signal) => api.operations.listOperations({ pageSize: 1 }, { signal }),
        say: (message) => context.err.line(message),
        address: api.address,
      });
      const lines = new EventLines(context, options);
      await context.interruptible(async (signal) => {
        const open = (cursor: string) => api.operations.watchOperations({ filter, cursor }, { signal });
        for await (const event of resume({ open, reconnect, signal, isEndless: true })) {
          lines.write(event);
          await context.out.drained();
        }
      });
      return 'ok';
    }),
  );
}

/** A line for each change of a phase; `wide` tells of steps as well, and data holds every event. */
class EventLines {
  readonly #context: CommandContext;
  readonly #output: OutputFormat;
  /** Whoever asks by a filter gets all that it matches; otherwise a watch begins with what is under way. */
  readonly #tellsHistory: boolean;
  /** What was last told of each operation that goes on. */
  readonly #told = new Map<string, string>();
  readonly #widths = { machine: 0, operation: 0 };

  constructor(context: CommandContext, { output, filter }: WatchOptions) {
    this.#context = context;
    this.#output = output;
    this.#tellsHistory = filter !== undefined;
  }

  write(event: OperationEvent): void {
    if (event.snapshot === undefined) return;
    const isHistory = event.kind === OperationEvent_Kind.SNAPSHOT && isFinished(event.snapshot);
    if (isHistory && !this.#tellsHistory) return;
    if (this.#output === 'table' && !this.#isNews(event.snapshot)) return;
    const rendering = { schema: OperationEventSchema, name: () => event.snapshot?.operationId ?? '' };
    writeStreamed(this.#context.out, this.#output, rendering, event, () => this.#line(event));
  }

  #isNews(operation: Operation): boolean {
    const state = stateOf(operation);
    const isNews = this.#told.get(operation.operationId) !== state;
    if (isFinished(operation)) this.#told.delete(operation.operationId);
    else this.#told.set(operation.operationId, state);
    return isNews;
  }

  #line(event: OperationEvent): string {
    const operation = event.snapshot;
    if (operation === undefined || !isForPeople(this.#output)) return '';
    const [machine, id] = [plainText(operation.machineId), plainText(operation.operationId)];
    this.#widths.machine = Math.max(this.#widths.machine, displayWidth(machine));
    this.#widths.operation = Math.max(this.#widths.operation, displayWidth(id));
    const parts = [
      `[${clockText(event.ts)}] ${padEnd(machine, this.#widths.machine)}`,
      padEnd(id, this.#widths.operation),
      padEnd(typeOf(operation), TYPE_WIDTH),
      this.#context.out.colour(stateOf(operation), phaseColour(operation)),
    ];
    if (this.#output === 'wide') parts.push(plainText(event.step), plainText(event.message));
    return parts.join('  ').trimEnd();
  }
}

function stateOf(operation: Operation): string {
  return operation.cancelRequested && !isFinished(operation)
    ? `${phaseOf(operation)} (canceling)`
    : phaseOf(operation);
}
