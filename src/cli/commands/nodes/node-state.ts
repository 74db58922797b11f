/** Changes the install state of one node. */
import { Command } from 'commander';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Answer, Rest } from '../../connection/rest-client.ts';
import { addNodeReason, addOutput, addReason } from '../../input/options.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { type NodeBody, nodePath, nodes } from '../../rendering/node-rendering.ts';

interface ChangeOptions {
  readonly output: OutputFormat;
  readonly fullOverwrite?: true;
  readonly reason?: string;
  readonly comment?: string;
  readonly force?: boolean;
}

async function changeState(
  context: CommandContext,
  rest: Rest,
  id: string,
  state: string,
  options: ChangeOptions,
): Promise<void> {
  const { force = false, fullOverwrite } = options;
  const comment = options.reason ?? options.comment;
  const overwrite = fullOverwrite ? { overwrite: 'whole' } : {};
  const body = { state, force, ...overwrite, ...(comment === undefined ? {} : { comment }) };
  const { data, message = '' } = await rest.call<Answer<NodeBody>>('PATCH', `${nodePath(id)}/state`, body);
  // The message names what the node still lacks, after its state.
  const lacks = message.startsWith(`Node is ${data.state}: `)
    ? message.slice(`Node is ${data.state}`.length)
    : '';
  writeOne(context.out, options.output, nodes(context.now()), data, () =>
    context.out.line(`${plainText(data.id)} is ${plainText(data.state)}${plainText(lacks)}`),
  );
}

export function setNodeState(context: CommandContext): Command {
  const command = new Command('state')
    .description('Move a node to another install state')
    .argument('<node-id>')
    .argument('<state>', statesOf(installLifecycle).join(', '))
    .option(
      '--force',
      'exceed the limit of attempts and reset their count; does not allow an illegal transition',
    )
    .option(
      '--full-overwrite',
      'with deprovisioning: overwrite disks without an erase command completely; may take hours',
    );
  return addOutput(addNodeReason(command)).action(
    context.restAction<ChangeOptions>(async ({ args: [id = '', state = ''], options, rest }) => {
      await changeState(context, rest, id, state, options);
      return 'ok';
    }),
  );
}

export function retireNode(context: CommandContext): Command {
  const command = new Command('retire')
    .description('Retire a node permanently (admin): it is never installed again')
    .argument('<node-id>');
  return addOutput(addReason(command)).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [id = ''], options, rest }) => {
      const { data } = await rest.call<Answer<NodeBody>>('DELETE', nodePath(id));
      writeOne(context.out, options.output, nodes(context.now()), data, () =>
        context.out.line(`${plainText(data.id)} is ${plainText(data.state)}`),
      );
      return 'ok';
    }),
  );
}
