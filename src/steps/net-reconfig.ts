import { z } from 'zod';
import { callOf, type StepKind } from './step-kind.ts';

const config = z.object({
  action: z.enum(['apply', 'verify']).default('apply'),
  netplan: z.string().max(65_536).default(''),
});
type Config = z.output<typeof config>;

const FILE = '/etc/netplan/90-ingot.yaml';
/** Written beside and renamed, so that the host never has half a file. */
const WRITE = `umask 077 && cat > ${FILE}.new && mv ${FILE}.new ${FILE}`;

/** Applying the same configuration again changes nothing, so it may be repeated; a verify only looks. */
export const netReconfig: StepKind<Config, 'remoteExec'> = {
  kind: 'net',
  needs: () => ['remoteExec'],
  config: config as z.ZodType<Config>,
  title: 'Applying network configuration',
  doneTitle: 'Network configured',
  canUndo: false,
  handler: ({ action, netplan }, { machine, can }) => ({
    async observe() {
      return { seen: 'unobservable', failure: null };
    },
    async act(context) {
      const call = callOf(context, machine);
      const commands =
        action === 'verify'
          ? [{ command: 'true' }]
          : [...(netplan === '' ? [] : [{ command: WRITE, stdin: netplan }]), { command: 'netplan apply' }];
      for (const [index, command] of commands.entries()) {
        const keyed = { ...call, key: `${call.key}/${index}` };
        const { exitCode } = await context.effect(() => can.remoteExec.run(keyed, command));
        if (exitCode === 0) continue;
        const message = `"${command.command}" exited with ${exitCode}`;
        return { result: 'failed', failure: { class: 'retryable', code: 'COMMAND_FAILED', message } };
      }
      return { result: 'done', message: action === 'verify' ? 'the host answers' : 'applied' };
    },
  }),
};
