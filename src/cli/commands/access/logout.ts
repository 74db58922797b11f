import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { type ConnectionOptions, profileName } from '../../profiles/find-target.ts';
import { revokeTokens } from '../../profiles/issuer-sign-in.ts';
import { type Profile, profilePath, readProfiles, writeProfile } from '../../profiles/profile-file.ts';

interface LogoutOptions extends ConnectionOptions {
  readonly all?: true;
}

export function logoutCommand(context: CommandContext): Command {
  return new Command('logout')
    .description('Sign out: forget the tokens of a profile, and revoke them at the issuer')
    .option('--all', 'of all profiles')
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<LogoutOptions>();
      const path = profilePath(context.env);
      const profiles = readProfiles(path);
      const names = options.all ? Object.keys(profiles) : [profileName(options, context.targetSources)];
      for (const name of names) {
        const profile = profiles[name];
        if (!profile) throw new UsageError(`there is no profile ${name}; there are: ${listOf(profiles)}`);
        // First what is certain: without the file, this machine has no token any more.
        writeProfile(path, name, null);
        const problem = await revoke(profile);
        if (problem !== null)
          context.err.line(`warning: the tokens are still valid at the issuer: ${problem}`);
        context.err.line(`signed out of ${profile.server}, profile ${name}`);
      }
      context.exit('ok');
    });
}

async function revoke({ credentials, ca_file: caFile }: Profile): Promise<string | null> {
  if (!('refresh_token' in credentials)) return null;
  return revokeTokens(credentials, caFile === null ? null : readFileSync(caFile));
}

function listOf(profiles: Readonly<Record<string, Profile>>): string {
  return Object.keys(profiles).join(', ') || 'none';
}
