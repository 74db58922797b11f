/** Debian's Chromium, driven through playwright-core. */
import { type Browser, chromium } from 'playwright-core';
import { findFile, REQUIREMENTS } from './debian-packages.ts';

export function launchChromium(): Promise<Browser> {
  const executablePath = findFile(REQUIREMENTS.chromium.files[0]);
  if (executablePath === undefined) throw new Error('there is no Chromium');
  return chromium.launch({
    executablePath,
    // Root has no sandbox, and a container's /dev/shm is small.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--enable-precise-memory-info'],
  });
}
