import { Command } from 'commander';
import { type Identity, IdentitySchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { instantText } from '../../output/time-text.ts';

const COLUMNS: Rendering<Identity>['columns'] = [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'ROLE', cell: ({ role }) => role },
  { header: 'SCOPE', cell: ({ scope }) => scope || 'the whole fleet' },
  { header: 'VIA', cell: ({ via }) => via },
  { header: 'EXPIRES', cell: ({ expiresAt }) => instantText(expiresAt) || 'never' },
];

const IDENTITY: Rendering<Identity> = {
  json: (identity) => jsonOf(IdentitySchema, identity),
  name: ({ name }) => name,
  columns: COLUMNS,
  wideColumns: COLUMNS,
};

export function whoamiCommand(context: CommandContext): Command {
  const command = new Command('whoami').description(
    'Show who you are to the server: name, role, scope, way in, expiry',
  );
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ options, api }) => {
      const identity = await api.fleet.whoAmI({});
      writeOne(context.out, options.output, IDENTITY, identity, () => {
        const lines = COLUMNS.map(({ header, cell }) => `${header.toLowerCase().padEnd(9)}${cell(identity)}`);
        for (const line of [...lines, `server   ${api.address}`, `token    from ${api.tokenOrigin}`])
          context.out.line(line);
      });
      return 'ok';
    }),
  );
}
