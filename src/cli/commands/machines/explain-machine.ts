import { Command } from 'commander';
import { HEADLINE_TONES, type HeadlineTone } from '../../../domain/machine/headline.ts';
import { ExplanationSchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { writeUpstream } from '../../rendering/upstream-rendering.ts';

export function explainMachine(context: CommandContext): Command {
  const command = new Command('explain')
    .description('Explain why a machine is not in service, what unblocks it and who must act')
    .argument('<machine-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [machineId = ''], options, api }) => {
      const explanation = await api.admin.explainMachine({ machineId });
      const rendering = {
        json: () => jsonOf(ExplanationSchema, explanation),
        name: () => machineId,
        columns: [],
        wideColumns: [],
      };
      writeOne(context.out, options.output, rendering, explanation, () => {
        context.out.line(plainText(explanation.summary));
        if (explanation.headline !== '') {
          const tone = HEADLINE_TONES[explanation.headlineTone as HeadlineTone]?.colour;
          context.out.line(`State: ${context.out.colour(plainText(explanation.headline), tone)}`);
        }
        const { available, unavailableMessage } = explanation;
        if (available === false)
          context.out.line(`It counts as unavailable, because ${plainText(unavailableMessage)}.`);
        if (explanation.rolloutMessage !== '') context.out.line(plainText(explanation.rolloutMessage));
        if (explanation.upstream) {
          context.out.line('');
          writeUpstream(context.out, explanation.upstream, context.now());
        }
        for (const { what, unblock, who, command: next } of explanation.obstacles) {
          context.out.line('');
          context.out.line(`What:     ${plainText(what)}`);
          context.out.line(`Unblock:  ${plainText(unblock)}`);
          context.out.line(`Who:      ${plainText(who)}`);
          if (next !== '') context.out.line(`Command:  ${context.program} ${plainText(next)}`);
        }
      });
      return 'ok';
    }),
  );
}
