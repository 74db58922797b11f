/**
 * The systemd unit of the agent. Whatever is put into it was checked, and is escaped for its place: no value can end
 * its line, its quotes or its specifier. The token is not in it, as units are readable by everybody: systemd hands it
 * over as a credential that only the service can read.
 */
import {
  AGENT_SETTINGS,
  AgentSettingError,
  type AgentSettingName,
  findSetting,
  readAgentSettings,
  type Said,
} from './agent-settings.ts';
import { AGENT_EXITS } from './exit-codes.ts';

export interface SystemdUnitOptions {
  readonly said: Said;
  /** What starts the agent: the program, and the words before its options. */
  readonly command: readonly string[];
}

/** Far more than any wait of the agent between two looks of the watchdog. */
const WATCHDOG_SECONDS = 300;
const UNIT = 'ingot-agent.service';
const CREDENTIAL = 'machine-token';
const DEFAULT_TOKEN_FILE = '/etc/ingot/machine-token';
/** Hidden from the service, as it has no business there. */
const HIDDEN = /^\/(?:home|root|run\/user|tmp|var\/tmp)\//;

export function systemdUnit({ said, command }: SystemdUnitOptions): string {
  // For its checks: the unit repeats what was said, and only that.
  readAgentSettings(said);
  const tokenFile = tokenFileOf(said);
  const words = [...command.map(checkedWord), '"--token-file"', `"\${CREDENTIALS_DIRECTORY}/${CREDENTIAL}"`];
  const hidden = command.filter((word) => HIDDEN.test(word));
  return `# The agent of Ingot on this machine. To install it:
#   1. put the machine's token into ${tokenFile}: owner root, mode 0600
#   2. put this text into /etc/systemd/system/${UNIT}
#   3. systemctl daemon-reload && systemctl enable --now ${UNIT}
# Its log: journalctl -u ${UNIT}
# LoadCredential needs systemd 247. With an older one, put INGOT_MACHINE_TOKEN=<token> into a file of mode 0600, name
# that file with EnvironmentFile=, and take LoadCredential= and --token-file out.
${hidden.map((word) => `# CAUTION: the service can't see ${word}: move it, to /usr/local/lib for example.\n`).join('')}
[Unit]
Description=Ingot agent
Wants=network-online.target
After=network-online.target
# It counts as started when it is registered. A server that is away must not hold the boot of the machine up: what wants it
# does not wait for it.
DefaultDependencies=no
Requires=sysinit.target
After=sysinit.target basic.target
Conflicts=shutdown.target
Before=shutdown.target
# It is meant to run for ever: however often it ends, it is started again.
StartLimitIntervalSec=0

[Service]
Type=notify
# systemd-notify speaks for it.
NotifyAccess=all
# However long the server is away.
TimeoutStartSec=infinity
# The agent feeds it while its loop is alive, also while the server is away.
WatchdogSec=${WATCHDOG_SECONDS}
ExecStart=${words.join(' ')}
LoadCredential=${CREDENTIAL}:${tokenFile.replaceAll('%', '%%')}
${environment(said).join('\n')}
Restart=always
RestartSec=10
# Its token was revoked for good: the machine was decommissioned or removed. systemctl start, once it has another token.
RestartPreventExitStatus=${AGENT_EXITS.revoked.code}
TimeoutStopSec=15
# The agent alone is asked to stop: systemd-notify must not be ended in the middle of a word.
KillMode=mixed

DynamicUser=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
UMask=0077
# Not PrivateDevices or ProtectClock, which would hide the GPUs from nvidia-smi; not ProtectProc, to count containers;
# not MemoryDenyWriteExecute, for the JavaScript engine.

[Install]
WantedBy=multi-user.target
`;
}

const REPEATED = [
  'server',
  'machineId',
  'pool',
  'provider',
  'interval',
  'timeout',
  'privateIp',
  'logLevel',
] as const satisfies readonly AgentSettingName[];

/** Variables rather than options: what is in the environment of a service is easy to override with a drop-in. */
function environment(said: Said): string[] {
  return REPEATED.flatMap((name) => {
    const found = findSetting(said, name);
    const { variable, fallback }: { variable: string; fallback?: string } = AGENT_SETTINGS[name];
    if (found === undefined || found.text === fallback) return [];
    return [`Environment=${quoted(`${variable}=${found.text}`, found.from)}`];
  });
}

/** In an assignment `$` means nothing; in quotes only these do. */
function quoted(text: string, from: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
  if (/[\x00-\x1f\x7f\u2028\u2029]/.test(text))
    throw new AgentSettingError(from, 'must not hold control characters');
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}

/** Paths of this program. systemd treats `$` differently in the first word and the others, so there is none. */
function checkedWord(word: string): string {
  if (word.includes('$'))
    throw new AgentSettingError('install', `${JSON.stringify(word)} must not hold a "$"`);
  return quoted(word, 'install');
}

/** Only what needs no quotes, since not every systemd takes them here. */
function tokenFileOf(said: Said): string {
  if (typeof said.options.token === 'string')
    throw new AgentSettingError(
      AGENT_SETTINGS.token.flag,
      'does not go into a unit, which everybody can read: put it into a file and name that with --token-file',
    );
  const { text, from } = findSetting(said, 'tokenFile') ?? {
    text: DEFAULT_TOKEN_FILE,
    from: AGENT_SETTINGS.tokenFile.flag,
  };
  if (/^\/[A-Za-z0-9._/@+=,%-]+$/.test(text)) return text;
  throw new AgentSettingError(
    from,
    'must be a path from / on of letters, digits and ._/@+=,%- to go into a unit',
  );
}
