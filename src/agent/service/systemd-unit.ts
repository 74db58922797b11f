/**
 * The systemd unit of the agent. Every value in it is checked and escaped: none can end its line, its quotes or its
 * specifier. The token is not in it, because every user can read units: systemd passes it as a credential that only the service
 * can read.
 */
import {
  AGENT_SETTINGS,
  AgentSettingError,
  type AgentSettingName,
  findSetting,
  readAgentSettings,
  type SettingSources,
} from '../agent-settings.ts';
import { AGENT_EXITS } from '../exit-codes.ts';

export interface SystemdUnitOptions {
  readonly sources: SettingSources;
  /** The command that starts the agent, without its options. */
  readonly command: readonly string[];
}

/** Much longer than any wait of the agent's loop. */
const WATCHDOG_SECONDS = 300;
const UNIT = 'ingot-agent.service';
const DEFAULT_TOKEN_FILE = '/etc/ingot/machine-token';
/** Paths that the hardened service can't see. */
const HIDDEN = /^\/(?:home|root|run\/user|tmp|var\/tmp)\//;

export function systemdUnit({ sources, command }: SystemdUnitOptions): string {
  // Only for its checks: the unit contains the settings that were set, without defaults.
  readAgentSettings(sources);
  const secrets = credentialsOf(sources);
  const words = [
    ...command.map(checkedWord),
    ...secrets.flatMap(({ flag, name }) => [`"${flag}"`, `"\${CREDENTIALS_DIRECTORY}/${name}"`]),
  ];
  const seen = [...command, ...PUBLIC.flatMap((name) => findSetting(sources, name)?.text ?? [])];
  const hidden = seen.filter((word) => HIDDEN.test(word));
  return `# The agent of Ingot on this machine. To install it:
#   1. put ${secrets.map(({ what, file }) => `${what} into ${file}`).join(', and ')}: owner root, mode 0600
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
# The unit is started when the agent is registered. A server that does not respond must not delay the boot of the machine:
# units that want this one do not wait for it.
DefaultDependencies=no
Requires=sysinit.target
After=sysinit.target basic.target
Conflicts=shutdown.target
Before=shutdown.target
# The agent runs permanently: it is restarted however often it ends.
StartLimitIntervalSec=0

[Service]
Type=notify
# systemd-notify sends its notifications.
NotifyAccess=all
# However long the server does not respond.
TimeoutStartSec=infinity
# The agent notifies it while its loop is alive, also while the server does not respond.
WatchdogSec=${WATCHDOG_SECONDS}
ExecStart=${words.join(' ')}
${secrets.map(({ name, file }) => `LoadCredential=${name}:${file.replaceAll('%', '%%')}`).join('\n')}
${environment(sources).join('\n')}
# Where it keeps the token that the server hands out in place of the credential.
StateDirectory=ingot-agent
StateDirectoryMode=0700
Restart=always
RestartSec=10
# Its token was revoked: the machine was decommissioned or removed. Run systemctl start after it has another token.
RestartPreventExitStatus=${AGENT_EXITS.revoked.code}
TimeoutStopSec=15
# Only the agent receives SIGTERM: systemd-notify must not be stopped while it sends.
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

/** Files that every user may read; the key and the token are not among them. */
const PUBLIC = ['caFile', 'certFile'] as const satisfies readonly AgentSettingName[];

const REPEATED = [
  ...PUBLIC,
  'server',
  'machineId',
  'pool',
  'provider',
  'interval',
  'timeout',
  'privateIp',
  'logLevel',
] as const satisfies readonly AgentSettingName[];

/** Variables instead of options: a drop-in can override the environment of a service. */
function environment(sources: SettingSources): string[] {
  return REPEATED.flatMap((name) => {
    const found = findSetting(sources, name);
    const { variable, fallback }: { variable: string; fallback?: string } = AGENT_SETTINGS[name];
    if (found === undefined || found.text === fallback) return [];
    return [`Environment=${quoted(`${variable}=${found.text}`, found.from)}`];
  });
}

/** In a quoted assignment only backslash, quote and percent are special. */
function quoted(text: string, from: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
  if (/[\x00-\x1f\x7f\u2028\u2029]/.test(text))
    throw new AgentSettingError(from, 'must not contain control characters');
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}

/** Paths of this program. A `$` is refused, because systemd treats it differently in the first word and the others. */
function checkedWord(word: string): string {
  if (word.includes('$'))
    throw new AgentSettingError('install', `${JSON.stringify(word)} must not contain a "$"`);
  return quoted(word, 'install');
}

interface UnitCredential {
  readonly what: string;
  readonly flag: string;
  readonly name: string;
  readonly file: string;
}

/** The key of the certificate, and the token; a certificate may be used without a token. */
function credentialsOf(sources: SettingSources): UnitCredential[] {
  const key = findSetting(sources, 'keyFile');
  const token = tokenFileOf(sources, key === undefined ? DEFAULT_TOKEN_FILE : null);
  const { keyFile, tokenFile } = AGENT_SETTINGS;
  return [
    ...(token === null
      ? []
      : [{ what: "the machine's token", flag: tokenFile.flag, name: 'machine-token', file: token }]),
    ...(key === undefined
      ? []
      : [{ what: "the certificate's key", flag: keyFile.flag, name: 'machine-key', file: unitPath(key) }]),
  ];
}

function tokenFileOf(sources: SettingSources, fallback: string | null): string | null {
  if (typeof sources.options.token === 'string')
    throw new AgentSettingError(
      AGENT_SETTINGS.token.flag,
      'is not allowed in a unit, which every user can read: put the token into a file and use --token-file',
    );
  const found = findSetting(sources, 'tokenFile');
  return found === undefined ? fallback : unitPath(found);
}

/** Only paths that need no quotes: not every systemd accepts quotes here. */
function unitPath({ text, from }: { readonly text: string; readonly from: string }): string {
  if (/^\/[A-Za-z0-9._/@+=,%-]+$/.test(text)) return text;
  throw new AgentSettingError(from, 'must be an absolute path of letters, digits and ._/@+=,%- in a unit');
}
