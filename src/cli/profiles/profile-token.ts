/** The token of a profile, renewed when it is about to expire. */
import { closeSync, openSync, rmSync } from 'node:fs';
import { sleep } from '../../time/sleep.ts';
import { SignInFailed } from '../errors/sign-in-failed.ts';
import { refreshTokens } from './issuer-sign-in.ts';
import { type Profile, readProfiles, writeProfile } from './profile-file.ts';

/** A token that expires sooner is renewed first. */
const SPARE_SECONDS = 30;
/** Commands that run side by side renew once: an issuer may take a refresh token a single time. */
const LOCK_PAUSE_MS = 100;
const LOCK_TRIES = 200;

export interface ProfilePlace {
  readonly path: string;
  readonly name: string;
  readonly now: () => number;
}

export async function profileToken(
  profile: Profile,
  place: ProfilePlace,
  ca: Buffer | null,
): Promise<string> {
  if (isFresh(profile, place)) return profile.credentials.token;
  const lock = `${place.path}.lock`;
  await takeLock(lock);
  try {
    const current = readProfiles(place.path)[place.name] ?? profile;
    if (isFresh(current, place) || !('refresh_token' in current.credentials))
      return current.credentials.token;
    const renewed = await refreshTokens(current.credentials, ca);
    if (renewed === null)
      throw new SignInFailed(
        `the sign-in of the profile ${place.name} is over: ingot login --profile ${place.name}`,
      );
    writeProfile(place.path, place.name, { ...current, credentials: renewed });
    return renewed.token;
  } finally {
    rmSync(lock, { force: true });
  }
}

function isFresh({ credentials }: Profile, { now }: ProfilePlace): boolean {
  return !('expires_at' in credentials) || credentials.expires_at - now() / 1000 > SPARE_SECONDS;
}

/** A request to an issuer takes seconds at most: what holds the lock for longer has died. */
async function takeLock(lock: string): Promise<void> {
  for (let tries = 0; !isTaken(lock); tries += 1) {
    if (tries === LOCK_TRIES) rmSync(lock, { force: true });
    else await sleep(LOCK_PAUSE_MS);
  }
}

function isTaken(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
