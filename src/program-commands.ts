/** The commands that are not clients of the server: `serve` itself, the agent, the installer, the network boot, certificates. */
import { agentCommand } from './agent/agent-command.ts';
import { tlsCommand } from './certificates/tls-command.ts';
import { CertificateError } from './certificates/try-out.ts';
import type { ExtraCommand } from './cli/command-tree.ts';
import { installerCommand } from './installer/installer-command.ts';
import { InstallerError } from './installer/installer-error.ts';
import { netbootCommand } from './netboot/netboot-command.ts';
import { packageVersion } from './package-root.ts';
import { bindAddresses } from './server/settings/bind-addresses.ts';
import { checkAddress } from './server/settings/check-address.ts';
import {
  type FlagValues,
  readSettings,
  SETTINGS,
  SettingError,
  type Settings,
} from './server/settings/settings.ts';

export const PROGRAM_COMMANDS = {
  serve: (program) => ({
    name: 'serve',
    description: 'Run the server',
    options: Object.values(SETTINGS).map((setting) => ({
      flags: setting.value === null ? setting.flag : `${setting.flag} <${setting.value}>`,
      description: `${setting.description} (${setting.variable}${setting.fallback === '' || setting.value === null ? '' : `, default ${setting.fallback}`})`,
    })),
    run: (options) => serve(program, flagsOf(options)),
  }),
  agent: (program) =>
    agentCommand({
      program,
      version: packageVersion(),
      command: [process.execPath, process.argv[1] ?? program, 'agent'],
      env: process.env,
      cwd: process.cwd(),
      ...output,
      signals: process,
    }),
  installer: (program) =>
    installerCommand({
      program,
      cwd: process.cwd(),
      dataDir: (option) => dataDirFor(option, InstallerError),
      ...output,
    }),
  netboot: (program) => netbootCommand({ program, ...output }),
  tls: (program) =>
    tlsCommand({
      program,
      cwd: process.cwd(),
      dataDir: () => dataDirFor(undefined, CertificateError),
      now: Date.now,
      ...output,
    }),
} as const satisfies Record<string, (program: string) => ExtraCommand>;

const output = {
  writeOut: (text: string) => process.stdout.write(text),
  writeErr: (text: string) => process.stderr.write(text),
};

/** The server's data directory, so that what commands make is where the server reads it. */
function dataDirFor(option: string | undefined, Failure: new (message: string) => Error): string {
  try {
    return readSettings(process.env, option === undefined ? {} : { dataDir: option }, process.cwd()).dataDir;
  } catch (error) {
    throw error instanceof SettingError ? new Failure(error.message) : error;
  }
}

/** The parser names `--http-addr` httpAddr. */
function flagsOf(options: Readonly<Record<string, unknown>>): FlagValues {
  const flags: FlagValues = {};
  for (const [key, { flag }] of Object.entries(SETTINGS)) {
    const value = options[flag.slice(2).replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase())];
    if (typeof value === 'string') flags[key as keyof Settings] = value;
    else if (value === true) flags[key as keyof Settings] = 'true';
  }
  return flags;
}

/** For the build, which stores what V8 compiled of them. */
export async function loadServerModules(): Promise<void> {
  await Promise.all([
    import('./server/settings/configuration.ts'),
    import('./server/tls/open-tls.ts'),
    import('./server/settings/plan-files.ts'),
    import('./server/run-server.ts'),
    import('./server/workers/run-worker.ts'),
  ]);
}

/** For bin/worker.cjs. */
export async function runWorkerProcess(): Promise<void> {
  const { runWorker } = await import('./server/workers/run-worker.ts');
  await runWorker();
}

async function serve(program: string, flags: FlagValues): Promise<number> {
  try {
    const given = readSettings(process.env, flags, process.cwd());
    const { readConfiguration } = await import('./server/settings/configuration.ts');
    const configuration = readConfiguration(given.configFile);
    const { checkTls } = await import('./server/tls/open-tls.ts');
    const settings = await bindAddresses(given, checkTls({ settings: given, configuration }));
    await checkAddress(settings.httpAddress, SETTINGS.httpAddress.variable);
    await checkAddress(settings.grpcAddress, SETTINGS.grpcAddress.variable);
    const { readPlanFiles } = await import('./server/settings/plan-files.ts');
    const planFiles = readPlanFiles(settings.plansDir);
    // Loaded here, so that the other commands do not load the server.
    const { runServer } = await import('./server/run-server.ts');
    return await runServer(program, { settings, configuration, planFiles });
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    process.stderr.write(`${program}: ${error.message}\n`);
    return 64;
  }
}
