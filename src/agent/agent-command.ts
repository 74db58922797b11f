/** The commands `agent` and `agent install`, as data: for `ingot`, and for the one-file program. */
import { hostname } from 'node:os';
import { type AgentLog, createAgentLog } from './agent-log.ts';
import {
  AGENT_SETTINGS,
  AgentSettingError,
  type AgentSettings,
  readAgentSettings,
  type SettingInfo,
  type SettingSources,
} from './agent-settings.ts';
import { type AgentTls, openAgentTls } from './agent-tls.ts';
import { AGENT_EXITS, type AgentExit } from './exit-codes.ts';
import { startMachineFigures } from './figures/machine-figures.ts';
import { createJsonPoster } from './post-json.ts';
import { runAgent } from './run-agent.ts';
import { createLoopPulse } from './service/loop-pulse.ts';
import { connectServiceManager } from './service/service-manager.ts';
import { systemdUnit } from './service/systemd-unit.ts';
import { openTokenSource, type TokenSource } from './token/token-source.ts';

export interface AgentCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly { readonly flags: string; readonly description: string }[];
  readonly helpAfter: string;
  readonly run: (options: Readonly<Record<string, unknown>>) => Promise<number>;
  readonly subcommands: readonly AgentCommand[];
}

export interface AgentEnvironment {
  /** The prefix of errors. */
  readonly program: string;
  readonly version: string;
  /** The command that a service starts, without its options. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
  readonly signals: {
    on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
    off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  };
}

export function agentCommand(environment: AgentEnvironment): AgentCommand {
  const sources = (options: SettingSources['options']): SettingSources => ({
    options,
    env: environment.env,
    cwd: environment.cwd,
  });
  const options = Object.values<SettingInfo>(AGENT_SETTINGS).map(
    ({ flag, value, description, variable, fallback }) => ({
      flags: `${flag} <${value}>`,
      description: `${description} (${variable}${fallback === undefined ? '' : `, default ${fallback}`})`,
    }),
  );
  return {
    name: 'agent',
    description: 'Run on a machine: register it and keep it alive',
    options,
    helpAfter: `
Registers this machine, then sends its metrics with every keepalive: CPU, memory, disk, GPUs, containers. Registers again
when the server has forgotten it, and retries with backoff while the server does not respond. After a refusal it reads its
token file again. It logs one line per event to stderr. SIGTERM and Ctrl-C stop it. It supports systemd (Type=notify, watchdog).

Exit codes:
${Object.values(AGENT_EXITS)
  .map(({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`)
  .join('\n')}`,
    run: (given) => reportingSettings(environment, () => serve(environment, sources(given))),
    subcommands: [
      {
        name: 'install',
        description: 'Print a systemd unit that runs the agent with these settings',
        options: options.filter(({ flags }) => !flags.startsWith(`${AGENT_SETTINGS.token.flag} `)),
        helpAfter: `
Prints the unit to stdout. Its comments say where to put it and the token. The token itself is never in it.`,
        run: (given) =>
          reportingSettings(environment, async () => {
            environment.writeOut(systemdUnit({ sources: sources(given), command: environment.command }));
            return 'stopped';
          }),
        subcommands: [],
      },
    ],
  };
}

async function reportingSettings(
  { program, writeErr }: AgentEnvironment,
  run: () => Promise<AgentExit>,
): Promise<number> {
  try {
    return AGENT_EXITS[await run()].code;
  } catch (error) {
    if (!(error instanceof AgentSettingError)) throw error;
    writeErr(`${program}: ${error.message}\n`);
    return AGENT_EXITS.wrongSetting.code;
  }
}

async function serve(environment: AgentEnvironment, sources: SettingSources): Promise<AgentExit> {
  const settings = readAgentSettings(sources);
  const tls = openAgentTls(sources);
  const tokens = openTokenSource(sources, tls);
  const log = createAgentLog({
    level: settings.logLevel,
    write: environment.writeErr,
    now: Date.now,
    secrets: tokens.seen,
  });
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  environment.signals.on('SIGINT', onSignal);
  environment.signals.on('SIGTERM', onSignal);
  try {
    return await runUntilStopped(environment, { settings, tls, tokens }, log, stop.signal);
  } finally {
    environment.signals.off('SIGINT', onSignal);
    environment.signals.off('SIGTERM', onSignal);
  }
}

interface Given {
  readonly settings: AgentSettings;
  readonly tls: AgentTls;
  readonly tokens: TokenSource;
}

async function runUntilStopped(
  { version, env }: AgentEnvironment,
  { settings, tls, tokens }: Given,
  log: AgentLog,
  stop: AbortSignal,
): Promise<AgentExit> {
  const { server, machineId, pool, provider } = settings;
  const agentVersion = `${version}-node`;
  log('info', 'started', {
    server: server.href,
    machine_id: machineId,
    pool,
    provider,
    version: agentVersion,
  });
  if (server.protocol === 'http:' && !isThisMachine(server.hostname))
    log('warn', 'unencrypted', { hint: 'the token is sent unencrypted: use https, or a tunnel' });
  const poster = createJsonPoster({
    server,
    token: tokens.current,
    tls: tls.options,
    timeoutMs: settings.timeoutMs,
    userAgent: `ingot-agent/${version}`,
  });
  const pulse = createLoopPulse(() => performance.now());
  const manager = connectServiceManager({ env, pid: process.pid, pulse, log });
  try {
    const exit = await runAgent(
      {
        identity: { machineId, provider, pool, hostname: hostname(), agentVersion },
        intervalMs: settings.intervalMs,
        requestLimitMs: settings.timeoutMs,
        tokens,
        manager,
        pulse,
        poster,
        figures: await startMachineFigures({ serverHost: server.hostname, privateIp: settings.privateIp }),
        log,
        now: Date.now,
        random: Math.random,
      },
      stop,
    );
    await manager.stopping(exit === 'stopped' ? 'stopped' : AGENT_EXITS[exit].meaning);
    log('info', 'stopped');
    return exit;
  } finally {
    manager.close();
    poster.close();
  }
}

const isThisMachine = (host: string): boolean => /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(host);
