import { Command } from 'commander';
import {
  type CreateMachineResponse,
  CreateMachineResponseSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, addReason } from '../../input/options.ts';
import { isForPeople, jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { instantText } from '../../output/time-text.ts';

interface CreateOptions {
  readonly output: OutputFormat;
  readonly pool: string;
  readonly provider?: string;
  readonly machineId?: string;
}

const CREATED: Rendering<CreateMachineResponse> = {
  json: (created) => jsonOf(CreateMachineResponseSchema, created),
  name: ({ machine }) => machine?.machineId ?? '',
  columns: [],
  wideColumns: [],
};

export function createMachine(context: CommandContext): Command {
  const command = new Command('create')
    .description('Create a machine for an agent, with the token for its registration')
    .requiredOption('--pool <name>', 'the worker pool that it belongs to')
    .option('--provider <name>', 'its provider (default: generic)')
    .option('--machine-id <id>', 'issue a token for an existing machine; its previous token becomes invalid')
    .addHelpText(
      'after',
      '\nThe token is shown only once. The machine expires unless its agent registers within an hour.',
    );
  return addOutput(addReason(command)).action(
    context.action<CreateOptions>(async ({ options, api }) => {
      const { pool, provider = '', machineId = '', output } = options;
      const created = await api.admin.createMachine({ pool, provider, machineId });
      writeOne(context.out, output, CREATED, created, () => {
        context.out.line(`Token: ${plainText(created.token)}`);
        context.out.line(`Machine ID: ${plainText(created.machine?.machineId ?? '')}`);
      });
      if (isForPeople(output)) {
        const id = plainText(created.machine?.machineId ?? '');
        context.err.line(
          `register it before ${instantText(created.expiresAt)}; the token is not shown again`,
        );
        context.err.line(
          `on the machine: INGOT_MACHINE_TOKEN=... ${context.program} agent --server <url> --machine-id ${id} --pool ${plainText(pool)}`,
        );
      }
      return 'ok';
    }),
  );
}
