import { Command } from 'commander';
import { type LogChunk, LogChunkSchema } from '../../gen/baremetal/v2/operation_service_pb.ts';
import type { CommandContext } from '../context.ts';
import { logLines } from '../follow/follow-operation.ts';
import { Reconnect } from '../follow/reconnect.ts';
import { resume } from '../follow/resumable-stream.ts';
import { tagOf } from '../operation-rendering.ts';
import { addOutput } from '../options.ts';
import { jsonLine, jsonOf, type OutputFormat, yamlText } from '../output/format.ts';
import { plainLogLine, plainText } from '../output/plain-text.ts';
import { clockText } from '../output/time-text.ts';

interface LogsOptions {
  readonly output: OutputFormat;
  readonly timestamps?: boolean;
}

export function streamLogs(context: CommandContext): Command {
  const command = new Command('logs')
    .description('Stream operation logs, from the first line until the operation has ended')
    .argument('<operation-id>')
    .option('-t, --timestamps', 'the time before each line');
  return addOutput(command).action(
    context.action<LogsOptions>(async ({ args: [operationId = ''], options, api }) => {
      const operation = await api.operations.getOperation({ operationId });
      const reconnect = new Reconnect({
        probe: (signal) => api.operations.getOperation({ operationId }, { signal }),
        say: (message) => context.err.line(message),
        address: api.address,
      });
      return context.interruptible(async (signal) => {
        const open = (cursor: string) =>
          api.operations.streamOperationLogs({ operationId, cursor }, { signal });
        for await (const chunk of resume({ open, reconnect, signal, isEndless: false })) {
          writeChunk(context, options, chunk, tagOf(operation, chunk.step));
          await context.out.drained();
        }
        if (!signal.aborted) return 'ok';
        context.err.line(
          `detached: ${operationId} goes on; its log again: ${context.program} logs ${operationId}`,
        );
        return 'stillRunning';
      });
    }),
  );
}

function writeChunk({ out }: CommandContext, options: LogsOptions, chunk: LogChunk, tag: string): void {
  switch (options.output) {
    case 'table':
    case 'wide':
      for (const line of logLines(chunk)) {
        const time =
          options.timestamps === true || options.output === 'wide' ? `${clockText(chunk.ts)} ` : '';
        out.line(`${time}${tag === '' ? '' : `[${plainText(tag)}] `}${plainLogLine(line)}`);
      }
      break;
    case 'json':
    case 'jsonl':
      out.line(jsonLine(chunkJson(chunk)));
      break;
    case 'yaml':
      out.write(`---\n${yamlText(chunkJson(chunk))}`);
      break;
    case 'name':
      out.line(plainText(chunk.cursor));
      break;
  }
}

/** `data` is base64 in protobuf's JSON; `text` is what a reader came for. */
function chunkJson(chunk: LogChunk): unknown {
  return { ...(jsonOf(LogChunkSchema, chunk) as object), text: logLines(chunk).join('\n') };
}
