import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { followStream } from '../../connection/follow-stream.ts';
import { Reconnect } from '../../connection/reconnect.ts';
import { addOutput } from '../../input/options.ts';
import type { OperationSource } from '../../operations/operation-source.ts';
import type { LogChunkView } from '../../operations/operation-view.ts';
import { logLines } from '../../operations/operation-view.ts';
import { jsonLine, type OutputFormat } from '../../output/format.ts';
import { plainLogLine, plainText } from '../../output/plain-text.ts';
import { clockText } from '../../output/time-text.ts';
import { yamlText } from '../../output/yaml-text.ts';
import { tagOf } from '../../rendering/operation-rendering.ts';

interface LogsOptions {
  readonly output: OutputFormat;
  readonly timestamps?: boolean;
}

export function streamLogs(context: CommandContext, source: OperationSource): Command {
  const command = new Command('logs')
    .description(`Stream ${source.noun} logs, from the first line until the ${source.noun} is finished`)
    .argument(`<${source.noun}-id>`)
    .option('-t, --timestamps', 'show the time of each line');
  return addOutput(command).action(
    context.action<LogsOptions>(async ({ args: [id = ''], options, api }) => {
      const operation = await source.get(api, id);
      const reconnect = new Reconnect({
        probe: (signal) => source.get(api, id, { signal }),
        notify: (message) => context.err.line(message),
        address: api.address,
      });
      return context.interruptible(async (signal) => {
        const open = (cursor: string, connection: AbortSignal) =>
          source.logs(api, { id, cursor }, { signal: connection });
        for await (const chunk of followStream({ open, reconnect, signal, whenClosed: 'over' })) {
          writeChunk(context, options, chunk, tagOf(operation, chunk.step));
          await context.out.drained();
        }
        if (!signal.aborted) return 'ok';
        const again = `${context.program} ${source.commands.logs} ${id}`;
        context.err.line(`detached: ${id} continues on the server; its log again: ${again}`);
        return 'stillRunning';
      });
    }),
  );
}

function writeChunk({ out }: CommandContext, options: LogsOptions, chunk: LogChunkView, tag: string): void {
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

/** `data` is base64 in protobuf's JSON; `text` has the readable lines. */
function chunkJson(chunk: LogChunkView): unknown {
  return { ...(chunk.json() as object), text: logLines(chunk).join('\n') };
}
