/** Debian's Chromium, driven through playwright-core. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { installPackages } from './debian.ts';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Null where there is none and none can be installed. */
export function findChromium(): string | null {
  const found = () => PATHS.find(existsSync) ?? null;
  if (found() === null) installPackages('chromium', 'fonts-dejavu-core');
  return found();
}

export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Root has no sandbox, and a container's /dev/shm is small.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--enable-precise-memory-info'],
  });
}
