/** Debian's Chromium, driven through playwright-core. */
import { type Browser, chromium } from 'playwright-core';
import { findFile, REQUIREMENTS } from './debian-packages.ts';

let shared: Promise<Browser> | null = null;

/** One for all files of a worker: its start costs as much as a test. It ends with the worker. */
export function sharedChromium(): Promise<Browser> {
  shared ??= launch();
  return shared;
}

async function launch(): Promise<Browser> {
  const executablePath = findFile(REQUIREMENTS.chromium.files[0]);
  if (executablePath === undefined) throw new Error('there is no Chromium');
  return chromium.launch({
    executablePath,
    // It ends when its pipe is closed. Handlers of signals would stay in the process of other files.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    // Root has no sandbox, and a container's /dev/shm is small.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--enable-precise-memory-info'],
  });
}
