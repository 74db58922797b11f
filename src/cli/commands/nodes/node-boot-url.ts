/** A one-time URL for the next boot of a node. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import type { Answer } from '../../connection/rest-client.ts';
import { addOutput } from '../../input/options.ts';
import { type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import type {} from '../../rendering/node-rendering.ts';

interface BootUrlBody {
  readonly url: string;
  readonly script_url: string;
  readonly iso_url: string | null;
  readonly expires_at: string;
}

const BOOT_URL: Rendering<BootUrlBody> = {
  json: (url) => url as never,
  name: ({ url }) => url,
  columns: [],
  wideColumns: [],
};

export function nodeBootUrl(context: CommandContext): Command {
  const command = new Command('boot-url')
    .description(
      'Issue a one-time URL for the next boot of a node, to set through its BMC (UEFI HTTP boot, virtual media); boots by its MAC address get the disk from then on',
    )
    .argument('<node-id>');
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [id = ''], options, rest }) => {
      const path = `/nodes/${encodeURIComponent(id)}/boot-url`;
      const { data } = await rest.call<Answer<BootUrlBody>>('POST', path);
      writeOne(context.out, options.output, BOOT_URL, data, () => {
        context.out.line(`HTTP boot:  ${data.url}`);
        if (data.iso_url !== null) context.out.line(`disc:       ${data.iso_url}`);
        context.out.line(`script:     ${data.script_url}`);
        context.out.line(`expires at: ${data.expires_at}`);
      });
      return 'ok';
    }),
  );
}
