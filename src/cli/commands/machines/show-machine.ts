import { Command } from 'commander';
import { equals } from '../../../client/filter-text.ts';
import type { Machine } from '../../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { addOutput } from '../../input/options.ts';
import { RUNS } from '../../operations/v1-runs.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import { isForPeople, type OutputFormat, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';
import type { ConnectionOptions } from '../../profiles/find-target.ts';
import { machineRendering, TITLE_WIDTH, writeMachineDetail } from '../../rendering/machine-rendering.ts';
import { writeHistory } from '../../rendering/operation-rendering.ts';
import { writeUpstream } from '../../rendering/upstream-rendering.ts';
import { showInBrowser } from './open-machine.ts';

const LAST_OPERATIONS = 5;

interface ShowOptions extends ConnectionOptions {
  readonly output: OutputFormat;
  readonly web?: true;
}

export function showMachine(context: CommandContext): Command {
  const command = new Command('show')
    .alias('get')
    .description('Show one machine: its state in both APIs, its conditions, its last operations')
    .argument('<machine-id>')
    .option('--web', 'open it in the console instead')
    .addHelpText('after', '\nWith -o json, jsonl or yaml the output is the machine of baremetal.v2 only.');
  return addOutput(command).action(
    context.action<ShowOptions>(async ({ args: [machineId = ''], options, api }) => {
      if (options.web) {
        const url = await context.consoleUrl(options);
        showInBrowser(context, `${url}/machines/${encodeURIComponent(machineId)}`);
      } else if (isForPeople(options.output)) await writeWhole(context, api, machineId);
      else writeMachine(context, options.output, await api.machines.getMachine({ machineId }));
      return 'ok';
    }),
  );
}

async function writeWhole(context: CommandContext, api: Api, machineId: string): Promise<void> {
  const [machine, v1, { items, nextPageToken }] = await Promise.all([
    api.machines.getMachine({ machineId }),
    RUNS.machine(api, machineId),
    OPERATIONS.list(api, {
      filter: equals('machine_id', machineId),
      pageSize: LAST_OPERATIONS,
      pageToken: '',
    }),
  ]);
  const now = context.now();
  writeMachineDetail(context.out, machine, now, v1);
  if (machine.status?.observed) await writeExplained(context, api, machineId);
  if (items.length === 0) return;
  const all = `all: ${context.program} ${OPERATIONS.commands.list} -m ${plainText(machineId)}`;
  context.out.line('');
  context.out.line(`Last operations${nextPageToken === '' ? '' : ` (${all})`}:`);
  writeHistory(context.out, items, now);
}

/** The machine has the upstream's state; the explanation says what it means. */
async function writeExplained(context: CommandContext, api: Api, machineId: string): Promise<void> {
  const { summary, upstream } = await api.admin.explainMachine({ machineId });
  context.out.line('');
  if (upstream) writeUpstream(context.out, upstream, context.now(), TITLE_WIDTH);
  context.out.line(`${padEnd('Explained:', TITLE_WIDTH)}${plainText(summary)}`);
}

/** Writes the machine of a response. */
export function writeMachine(context: CommandContext, output: OutputFormat, machine: Machine): void {
  const now = context.now();
  writeOne(context.out, output, machineRendering(now), machine, () =>
    writeMachineDetail(context.out, machine, now),
  );
}
