import { Command } from 'commander';
import { FAILURE_CLASSES, type FailureClass } from '../../../domain/error/failure-class.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { commandFor, nextActionFor } from '../../../domain/operation/next-action.ts';
import { operationLifecycle } from '../../../domain/operation/operation-status.ts';
import type { OperatorActionRecord } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { addOutput, addQuiet, addTimeout } from '../../input/options.ts';
import type { OperationSource } from '../../operations/operation-source.ts';
import type { OperationView } from '../../operations/operation-view.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import { waitForOperation } from '../../operations/wait-for-operation.ts';
import { isForPeople, type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { Table } from '../../output/table.ts';
import { instantText } from '../../output/time-text.ts';
import type { ConnectionOptions } from '../../profiles/find-target.ts';
import { operationRendering, writeOperationDetail } from '../../rendering/operation-rendering.ts';
import { showInBrowser } from '../machines/open-machine.ts';

interface ShowOptions extends ConnectionOptions {
  readonly output: OutputFormat;
  readonly web?: true;
}

export function showOperation(context: CommandContext, source: OperationSource): Command {
  const command = new Command('show')
    .alias('get')
    .description(`Show one ${source.noun} with its steps`)
    .argument(`<${source.noun}-id>`)
    .option('--web', 'open it in the console instead');
  return addOutput(command).action(
    context.action<ShowOptions>(async ({ args: [id = ''], options, api }) => {
      if (options.web) {
        const url = await context.consoleUrl(options);
        showInBrowser(context, `${url}/operations/${encodeURIComponent(id)}`);
        return 'ok';
      }
      const operation = await source.get(api, id);
      const now = context.now();
      const isDetail = source === OPERATIONS && isForPeople(options.output);
      const observed = isDetail ? await observedOf(api, operation) : '';
      const actions = isDetail ? (await api.admin.listOperatorActions({ operationId: id })).actions : [];
      writeOne(context.out, options.output, operationRendering(source, now), operation, () => {
        writeOperationDetail(context.out, source, operation, now);
        if (source !== OPERATIONS) return;
        writeLifecycle(context, operation, observed);
        writeActions(context, actions);
      });
      return 'ok';
    }),
  );
}

/** The machine's last state in its upstream; empty if it has none. */
async function observedOf(api: Api, operation: OperationView): Promise<string> {
  const { status } = await api.machines.getMachine({ machineId: operation.machineId });
  const { observed } = status ?? {};
  if (!observed) return '';
  return `${observed.state} (${observed.source}, power ${observed.power}, ${instantText(observed.at)})`;
}

/** What happened, what to check and what to do next (docs/operator-actions.md). */
function writeLifecycle({ out, program }: CommandContext, operation: OperationView, observed: string): void {
  const status = JOB_STATUSES.find((known) => known === operation.more?.status);
  if (status === undefined) return;
  const failureClass = failureClassOf(operation);
  const error = operation.error && failureClass ? { code: operation.error.code, failureClass } : null;
  const { cancelRequested, more } = operation;
  const next = nextActionFor({ status, error, cancelRequested, approval: more?.approval });
  const command = commandFor(operation.id, next);
  out.line('');
  for (const [title, text] of [
    ['Workflow', status],
    ['Failure class', failureClass ?? ''],
    ['Observed', observed],
    ['What happened', next.whatHappened],
    ['Check', next.check],
    ['Who', next.whatHappened === '' ? '' : next.who],
    ['Next', `${next.next}${command === '' ? '' : `: ${program} ${command}`}`],
  ] as const) {
    if (text !== '') out.line(`${`${title}:`.padEnd(15)}${plainText(text)}`);
  }
}

/** The operator actions that were taken. */
function writeActions({ out }: CommandContext, actions: readonly OperatorActionRecord[]): void {
  if (actions.length === 0) return;
  out.line('');
  new Table<OperatorActionRecord>(
    out,
    [
      { header: 'TIME', cell: ({ at }) => instantText(at) },
      { header: 'BY', cell: ({ actor }) => actor },
      { header: 'ACTION', cell: ({ action }) => action },
      { header: 'STATUS', cell: ({ fromStatus, toStatus }) => `${fromStatus} → ${toStatus}` },
      { header: 'REASON', cell: ({ reason }) => reason, stays: 'longest' },
    ],
    'wrapped',
  ).write(actions);
}

const JOB_STATUSES = statesOf(operationLifecycle);

function failureClassOf({ error }: OperationView): FailureClass | null {
  const name = error?.details?.failure_class ?? '';
  return Object.hasOwn(FAILURE_CLASSES, name) ? (name as FailureClass) : null;
}

/** Continues a detached command. */
export function attachOperation(
  context: CommandContext,
  source: OperationSource,
  name: 'watch' | 'attach',
): Command {
  const command = new Command(name)
    .description(`Follow one ${source.noun} until it is finished; the exit code is its outcome`)
    .argument(`<${source.noun}-id>`);
  return addOutput(addQuiet(addTimeout(command, '1h'))).action(
    context.action<{ output: OutputFormat; timeout: number; quiet?: boolean }>(
      async ({ args: [id = ''], options, api }) => {
        const operation = await source.get(api, id);
        return waitForOperation({ context, api, source, operation, options });
      },
    ),
  );
}
