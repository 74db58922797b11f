import { z } from 'zod';
import type { Failure } from '../../domain/error/failure.ts';
import type { RemoteCommand } from '../../providers/provider.ts';
import { callOf, type StepKind } from '../step-kind.ts';
import { runRepeatable } from './repeatable-command.ts';

const config = z.object({
  action: z.enum(['apply', 'verify']).default('apply'),
  netplan: z.string().max(65_536).default(''),
});
type Config = z.output<typeof config>;

const FILE = '/etc/netplan/90-ingot.yaml';
const AS_ROOT = 'as() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }';
/** How a shell says that there is no such program. */
const NOT_FOUND = 127;
const HAS_NETPLAN = `command -v netplan >/dev/null || exit ${NOT_FOUND}`;
/** Written beside and renamed, so that the host never has half a file. */
const WRITE = `as sh -c 'umask 077 && cat > ${FILE}.new && mv ${FILE}.new ${FILE}'`;
/** That the host answers over a new connection is the proof; what it has now goes to the log. */
const SHOW = 'ip -brief address && ip route';

function commandsFor({ action, netplan }: Config): RemoteCommand[] {
  if (action === 'verify') return [{ command: SHOW }];
  const shell = (...lines: string[]) => lines.join('\n');
  return [
    ...(netplan === '' ? [] : [{ command: shell(AS_ROOT, HAS_NETPLAN, WRITE), stdin: netplan }]),
    { command: shell(AS_ROOT, HAS_NETPLAN, 'as netplan apply') },
  ];
}

/** Applying the same configuration again changes nothing, so it may be repeated; a verify only observes. */
export const netReconfig: StepKind<Config, 'remoteExec'> = {
  kind: 'net',
  needs: () => ['remoteExec'],
  config: config as z.ZodType<Config>,
  title: 'Applying network configuration',
  doneTitle: 'Network configured',
  canUndo: false,
  handler: (wanted, { machine, capabilities }) => ({
    async observe() {
      return { seen: 'unobservable', failure: null };
    },
    async act(context) {
      const call = callOf(context, machine);
      const { action } = wanted;
      for (const [index, command] of commandsFor(wanted).entries()) {
        const keyed = { ...call, key: `${call.key}/${index}` };
        const { exitCode } = await context.effect(() =>
          runRepeatable(capabilities.remoteExec, keyed, command),
        );
        if (exitCode !== 0) return { result: 'failed', failure: failureOf(action, exitCode) };
      }
      return { result: 'done', message: action === 'verify' ? 'the host answers' : 'applied' };
    },
  }),
};

function failureOf(action: Config['action'], exitCode: number): Failure {
  if (action === 'apply' && exitCode === NOT_FOUND) {
    const message = 'there is no netplan on the host, or sudo does not let us run it';
    return { class: 'permanent', code: 'NETPLAN_MISSING', message };
  }
  const what = action === 'verify' ? 'showing addresses and routes' : 'netplan';
  return { class: 'retryable', code: 'COMMAND_FAILED', message: `${what} exited with ${exitCode}` };
}
