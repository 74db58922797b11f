/** `ingot serve` from start to end: the first message, the signals, the last message and the exit code. */

import { untilAborted } from '../time/until-aborted.ts';
import type { ReplicaOptions } from './replica/replica-options.ts';
import { serverLog } from './server-log.ts';
import type { Transport } from './settings/bind-addresses.ts';
import type { PlanFile } from './settings/plan-files.ts';
import { SETTINGS, type Settings } from './settings/settings.ts';
import { type Server, startServer } from './start-server.ts';
import { checkTls } from './tls/open-tls.ts';
import { startSupervisedServer } from './workers/start-supervised-server.ts';

export interface RunOptions extends Pick<ReplicaOptions, 'settings' | 'configuration'> {
  readonly planFiles: readonly PlanFile[];
}

/** The code that a shell reports for a program that Ctrl-C ended. */
const FORCED_EXIT = 130;

export async function runServer(program: string, options: RunOptions): Promise<number> {
  const { settings } = options;
  const log = serverLog(settings);
  const stopping = new AbortController();
  let code = 0;
  handleSignals(program, stopping);
  const transport = checkTls(options);
  if (transport === 'plaintext' && settings.insecurePlaintext)
    log.warn(
      { setting: SETTINGS.insecurePlaintext.flag },
      'both ports are plaintext on addresses other than loopback: tokens and answers can be read on the network',
    );
  const start = settings.workers === 1 ? startServer : startSupervisedServer;
  const server = await start({
    ...options,
    log,
    signal: stopping.signal,
    onFatal: (error) => {
      log.fatal({ err: error }, "the server can't continue");
      code = 1;
      stopping.abort();
    },
  }).catch((error: unknown) => {
    // A start that was asked to stop is no failure.
    if (!stopping.signal.aborted) throw error;
    return null;
  });
  if (server) process.stdout.write(`${startMessage(program, settings, server, transport)}\n`);
  await untilAborted(stopping.signal);
  process.stdout.write('Stopping…\n');
  await server?.stop();
  process.stdout.write('Stopped. All data is kept; start it again to continue.\n');
  return code;
}

/** The first signal asks for an orderly stop; with a second, the operator does not want to wait for it. */
function handleSignals(program: string, stopping: AbortController): void {
  const onSignal = () => {
    if (stopping.signal.aborted) {
      process.stderr.write(
        `${program}: stopped at once; operations in progress continue when their leases end\n`,
      );
      process.exit(FORCED_EXIT);
    }
    stopping.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

function startMessage(program: string, settings: Settings, server: Server, transport: Transport): string {
  const host = (name: string) => (name.includes(':') ? `[${name}]` : name);
  const scheme = transport === 'tls' ? 'https' : 'http';
  const isOpen = transport === 'plaintext' && settings.insecurePlaintext;
  return [
    'Ingot is running.',
    `  gRPC   ${transport === 'tls' ? 'grpcs://' : ''}${host(settings.grpcAddress.host)}:${server.grpcPort}`,
    `  HTTP   ${scheme}://${host(settings.httpAddress.host)}:${server.httpPort}`,
    `  data   ${server.embedded ? settings.dataDir : 'in the database of DATABASE_URL'}`,
    `  token  ${server.adminTokenFile}`,
    ...(isOpen
      ? ['  WARNING: both ports are plaintext (--insecure-plaintext); tokens can be read on the network']
      : []),
    'Try next, in another terminal:',
    `  bin/${program} import 3`,
    `  bin/${program} enter-maintenance machine-1`,
    `  bin/${program} reimage machine-1 --image ubuntu-2204`,
    `or open ${scheme}://${host(settings.httpAddress.host)}:${server.httpPort}/ in a browser and sign in with the token.`,
    'Ctrl-C stops it.',
  ].join('\n');
}
