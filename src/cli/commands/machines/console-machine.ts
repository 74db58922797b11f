/** The serial console of a machine on this terminal: as ssh has it, with a turn to write that is shared. */
import { Command } from 'commander';
import { ConsoleAttachment, type WriteMode } from '../../../client/console-attachment.ts';
import { stateWords, turnWords } from '../../../client/console-words.ts';
import { backoffPause } from '../../../client/resumable-stream.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { CallError, isConnectionLost } from '../../connection/call-error.ts';
import type { Exit } from '../../errors/exit-code.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples } from '../../input/options.ts';
import { plainLogLine, plainText } from '../../output/plain-text.ts';
import { EscapeKeys, escapeHelp, type Typed } from '../../serial-console/escape-keys.ts';

interface ConsoleFlags {
  readonly readOnly?: boolean;
  readonly steal?: boolean;
  readonly log?: boolean;
  readonly follow?: boolean;
}

/** What is shown first of what was before. */
const TAIL_BYTES = 2_048;
const pauseBeforeRetry = backoffPause({ firstMs: 250, maxMs: 5_000 });

export function consoleMachine(context: CommandContext): Command {
  const command = new Command('console')
    .description('The serial console of a machine, through its BMC. ~. disconnects, ~? lists the other keys')
    .argument('<machine-id>')
    .option('--read-only', 'show the output, and type nothing; so it is where stdin or stdout is no terminal')
    .option(
      '--steal',
      'take the turn to write from the session that has it, and the console from another client of the BMC',
    )
    .option('--log', 'print what was recorded, and end')
    .option('--follow', 'with --log: go on with what comes');
  addExamples(command, context.program, [
    'console machine-1',
    'console machine-1 --read-only | tee boot.log',
    'console machine-1 --log',
  ]);
  return command.action(
    context.action<ConsoleFlags>(async ({ args: [machineId = ''], options, api }) => {
      if (options.follow && !options.log) throw new UsageError('--follow goes with --log');
      if (options.steal && (options.readOnly || options.log))
        throw new UsageError('--steal types: leave the other option away');
      if (!options.log) return attach(context, api, { machineId, options });
      const offset = await printLog(context, api, machineId);
      return options.follow ? attach(context, api, { machineId, options: { readOnly: true }, offset }) : 'ok';
    }),
  );
}

/** Returns where it ends. */
async function printLog(context: CommandContext, api: Api, machineId: string): Promise<bigint> {
  for (let offset: bigint | undefined; ; ) {
    const log = await api.consoles.getConsoleLog({ machineId, ...(offset === undefined ? {} : { offset }) });
    if (log.droppedBytes > 0n) context.out.line(droppedLine(log.droppedBytes));
    writeOutput(context, log.data);
    await context.out.drained();
    offset = log.nextOffset;
    if (offset >= log.endOffset || log.data.length === 0) {
      if (offset === 0n) context.err.line(`nothing is recorded of the console of ${plainText(machineId)}`);
      return offset;
    }
  }
}

/** A terminal gets no control codes of what is not live; a file gets the bytes as they are. */
function writeOutput({ out }: CommandContext, data: Uint8Array): void {
  if (!out.isTerminal) {
    out.bytes(data);
    return;
  }
  const lines = Buffer.from(data).toString('utf8').split('\n');
  out.write(lines.map((line) => plainLogLine(line.replace(/\r$/, ''))).join('\n'));
}

function droppedLine(bytes: bigint): string {
  return `[ingot: ${bytes} bytes before this were dropped: only the newest are kept]`;
}

interface Attaching {
  readonly machineId: string;
  readonly options: ConsoleFlags;
  readonly offset?: bigint;
}

async function attach(
  context: CommandContext,
  api: Api,
  { machineId, options, offset }: Attaching,
): Promise<Exit> {
  const { stdin, out } = context;
  const canType = stdin.isTTY === true && out.isTerminal && !options.readOnly;
  if (options.steal && !canType)
    throw new UsageError('--steal types, and needs a terminal as stdin and stdout');
  const writeMode: WriteMode = canType ? (options.steal ? 'steal' : 'ask') : 'read';
  const writeNotice = noticeWriter(context, canType);
  return context.interruptible<Exit>(async (interrupted) => {
    const leaving = new AbortController();
    const signal = AbortSignal.any([interrupted, leaving.signal]);
    const shown = { state: '', turn: '' };
    const attachment = new ConsoleAttachment({
      calls: api.consoles,
      ...{ machineId, writeMode, pauseBeforeRetry },
      tailBytes: TAIL_BYTES,
      ...(offset === undefined ? {} : { offset }),
      reasonOf: (error) => (error instanceof CallError ? error.reason : ''),
      isLost: (error) => {
        const isLost = isConnectionLost(error);
        if (isLost) writeNotice(`connection to ${api.address} lost; trying again...`);
        return isLost;
      },
      async onOutput(data, dropped) {
        if (dropped > 0n) out.write(`${droppedLine(dropped)}\r\n`);
        out.bytes(data);
        await out.drained();
      },
      onConsole(console, sessionId) {
        const now = { state: stateWords(console), turn: turnWords(console, sessionId) };
        if (now.state !== shown.state) writeNotice(plainText(now.state));
        if (canType && now.turn !== shown.turn) writeNotice(plainText(now.turn));
        Object.assign(shown, now);
      },
      onRefused: (error) => writeNotice(error instanceof Error ? plainText(error.message) : 'it was refused'),
    });
    if (!canType) {
      await attachment.run(signal);
      return 'ok';
    }
    writeNotice(`~. disconnects, ~? lists the other keys`);
    const restore = typeInto(context, attachment, { leave: () => leaving.abort(), writeNotice });
    try {
      await attachment.run(signal);
    } finally {
      restore();
      writeNotice(`disconnected from ${plainText(machineId)}`);
    }
    return 'ok';
  });
}

/** On stderr; in the raw mode of a terminal a line needs its carriage return. */
function noticeWriter({ err }: CommandContext, isRaw: boolean): (text: string) => void {
  return (text) => err.write(isRaw ? `\r\n[${text}]\r\n` : `[${text}]\n`);
}

interface Typing {
  readonly leave: () => void;
  readonly writeNotice: (text: string) => void;
}

/** Every key goes to the machine, Ctrl-C too. Returns what makes the terminal as it was. */
function typeInto(
  { stdin }: CommandContext,
  attachment: ConsoleAttachment,
  { leave, writeNotice }: Typing,
): () => void {
  const keys = new EscapeKeys();
  const onData = (bytes: Buffer) => {
    for (const typed of keys.read(bytes)) act(typed);
  };
  const act = (typed: Typed) => {
    if ('bytes' in typed) return attachment.type(typed.bytes);
    switch (typed.action) {
      case 'disconnect':
        return leave();
      case 'ask':
      case 'steal':
        return attachment.take(typed.action);
      case 'release':
        return attachment.release();
      case 'break':
        return attachment.sendBreak();
      case 'help':
        return writeNotice(escapeHelp().join('\r\n'));
    }
  };
  stdin.setRawMode?.(true);
  stdin.on('data', onData);
  stdin.on('end', leave);
  stdin.resume();
  return () => {
    stdin.off('data', onData);
    stdin.off('end', leave);
    stdin.pause();
    stdin.setRawMode?.(false);
  };
}
