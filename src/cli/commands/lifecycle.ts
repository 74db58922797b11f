/** reboot, reimage, enter-maintenance and exit-maintenance: the same command around four calls. */
import { Command } from 'commander';
import { OPERATION_TYPES, type OperationType } from '../../domain/operation-type.ts';
import type { Operation } from '../../gen/baremetal/v2/operation_pb.ts';
import type { Api } from '../api.ts';
import { agree, runBulk } from '../bulk.ts';
import { isConnectionLost } from '../call-error.ts';
import type { CommandContext } from '../context.ts';
import { EXIT_OF_PHASE, type Exit } from '../exit-code.ts';
import { isFinished, operationRendering, phaseOf } from '../operation-rendering.ts';
import { addFilter, addOutput, addWaiting } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { type SelectionOptions, selectMachines } from '../selection.ts';
import { UsageError } from '../usage-error.ts';
import { waitForOperation } from '../wait-for-operation.ts';

interface LifecycleOptions extends SelectionOptions {
  readonly output: OutputFormat;
  readonly requestId?: string;
  readonly image?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
  readonly yes?: boolean;
}

interface StartRequest {
  readonly machineId: string;
  readonly requestId: string;
  readonly imageRef: string;
}

interface Verb {
  readonly description: string;
  readonly timeout: string;
  readonly start: (api: Api, request: StartRequest) => Promise<Operation>;
}

const VERBS = {
  REBOOT: {
    description: 'Reboot a machine, or several',
    timeout: '1h',
    start: (api, { machineId, requestId }) => api.machines.rebootMachine({ machineId, requestId }),
  },
  REIMAGE: {
    description: 'Reimage (requires MAINTENANCE); destroys what is on the disk',
    timeout: '2h',
    start: (api, request) => api.machines.reimageMachine(request),
  },
  ENTER_MAINTENANCE: {
    description: 'Enter maintenance mode',
    timeout: '1h',
    start: (api, { machineId, requestId }) => api.machines.enterMaintenance({ machineId, requestId }),
  },
  EXIT_MAINTENANCE: {
    description: 'Exit maintenance mode',
    timeout: '1h',
    start: (api, { machineId, requestId }) => api.machines.exitMaintenance({ machineId, requestId }),
  },
} as const satisfies Record<OperationType, Verb>;

export function lifecycleCommand(context: CommandContext, type: OperationType): Command {
  const { verb } = OPERATION_TYPES[type];
  const { description, timeout } = VERBS[type];
  const command = new Command(verb).description(description).argument('[machine-id...]');
  if (type === 'REIMAGE')
    command.option('--image <ref>', 'OS image, for example ubuntu-2204 (default: the server’s)');
  addFilter(command)
    .option('--all', 'every machine')
    .option('-y, --yes', 'do not ask before working on many machines')
    .option(
      '--request-id <id>',
      'idempotency key: the same id never starts a second operation (default: made up)',
    );
  return addOutput(addWaiting(command, timeout)).action(
    context.action<LifecycleOptions>(async ({ args, options, api }) => {
      if (options.requestId === '') throw new UsageError('--request-id is empty');
      const selection = await selectMachines(api, args, options);
      const [only] = selection.machineIds;
      if (only === undefined) {
        context.err.line(`no machine matches ${selection.criterion}; nothing was done`);
        return 'ok';
      }
      const isBulk = selection.machineIds.length > 1 || selection.criterion !== undefined;
      const { destructive } = OPERATION_TYPES[type];
      if (isBulk)
        await agree(context, selection, { verb, isDestructive: destructive, yes: options.yes === true });
      const requestId = options.requestId ?? context.newRequestId();
      if (options.requestId === undefined) context.err.line(`request-id: ${requestId}`);
      const start = (machineId: string): Promise<Operation> =>
        VERBS[type].start(api, { machineId, requestId, imageRef: options.image ?? '' });
      if (isBulk) return runBulk({ context, api, machineIds: selection.machineIds, start, options });
      return runOne({
        context,
        api,
        machineId: only,
        start,
        options,
        retry: retryLine(context, verb, only, requestId),
      });
    }),
  );
}

function retryLine({ program }: CommandContext, verb: string, machineId: string, requestId: string): string {
  return `${program} ${verb} ${plainText(machineId)} --request-id=${plainText(requestId)}`;
}

interface One {
  readonly context: CommandContext;
  readonly api: Api;
  readonly machineId: string;
  readonly start: (machineId: string) => Promise<Operation>;
  readonly options: LifecycleOptions;
  readonly retry: string;
}

async function runOne({ context, api, machineId, start, options, retry }: One): Promise<Exit> {
  const before = options.wait ? await api.machines.getMachine({ machineId }) : undefined;
  const operation = await start(machineId).catch((error: unknown) => {
    // Nobody knows whether it was accepted. The same request id makes asking again safe.
    if (isConnectionLost(error)) context.err.line(`  retry safely: ${retry}`);
    throw error;
  });
  const isReplay = options.requestId !== undefined && isFinished(operation);
  if (options.wait && !isReplay) return waitForOperation({ context, api, operation, before, options });
  writeOne(context.out, options.output, operationRendering(context.now()), operation, () => {
    const phase = isReplay ? `(${phaseOf(operation)})` : phaseOf(operation);
    context.out.line(`Operation: ${plainText(operation.operationId)} ${phase}`);
    if (operation.error !== undefined) context.out.line(`Error: ${plainText(operation.error.message)}`);
  });
  if (isFinished(operation)) return EXIT_OF_PHASE[operation.phase];
  context.err.line(`  attach: ${context.program} op watch ${plainText(operation.operationId)}`);
  return 'ok';
}
