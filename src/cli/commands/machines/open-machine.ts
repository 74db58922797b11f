import { spawn } from 'node:child_process';
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';

/** The URL is on stdout, so that it also helps where there is no browser. */
export function showInBrowser({ out, env }: CommandContext, url: string): void {
  out.line(url);
  const opener = env.BROWSER || (process.platform === 'darwin' ? 'open' : 'xdg-open');
  const hasScreen =
    process.platform === 'darwin' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER);
  if (!out.isTerminal || !hasScreen) return;
  const browser = spawn(opener, [url], { stdio: 'ignore', detached: true });
  // Without the program the URL is all there is.
  browser.on('error', () => undefined);
  browser.unref();
}

export function openMachine(context: CommandContext): Command {
  return new Command('open')
    .description('Open the console in the browser, at a machine or at the fleet')
    .argument('[machine-id]')
    .action(
      context.restAction(async ({ args: [machineId], rest }) => {
        const page = machineId === undefined ? '' : `/machines/${encodeURIComponent(machineId)}`;
        showInBrowser(context, `${rest.baseUrl}${page}`);
        return 'ok';
      }),
    );
}
