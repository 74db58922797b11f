// @module-tag extended: serial-console/turns.test.ts has the turns; this is the same in a browser.
/** The serial console in a browser, of a fake machine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { openConsole } from '../serial-console/console-client.ts';
import { CHROMIUM, Console, expectAccessible } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('the serial console of a machine'), () => {
  let console: Console;
  beforeAll(async () => {
    console = await Console.start();
    await console.server.machines.registerMachine({ machine: { machineId: 'serial-1' } });
  });
  afterAll(() => console.stop());

  it('shows what the machine writes, types after Take over, and gives the turn back', {
    timeout: 90_000,
  }, async () => {
    const page = await console.open({ role: 'operator', path: '/machines/serial-1/console' });
    const terminal = page.getByLabel('Terminal of serial-1');
    await terminal.getByText('serial-1 login:').first().waitFor({ state: 'attached' });
    await page.getByRole('status').getByText('connected: a fake console').waitFor();
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByRole('status').getByText('you write').waitFor();
    await page.keyboard.type('root');
    await page.keyboard.press('Enter');
    await terminal.getByText('you typed 4 characters: root').first().waitFor({ state: 'attached' });
    await expectAccessible(page);

    const other = console.server.client(ConsoleService, console.server.adminToken);
    const reader = await openConsole(other, 'serial-1', { tailBytes: 1000 });
    await reader.shows('you typed 4 characters: root');
    await page.getByRole('status').getByText('1 other has it open').waitFor();
    await other.takeConsole({ sessionId: reader.sessionId, steal: true });
    await terminal.getByText('took the turn to write from').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Ask to write' }).click();
    await page.getByRole('status').getByText('asks for the turn').waitFor();
    await other.releaseConsole({ sessionId: reader.sessionId });
    await page.getByRole('status').getByText('you write').waitFor();
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByRole('status').getByText('no one writes').waitFor();
    await reader.leave();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('Disconnected.').waitFor();
    await expect.poll(async () => (await other.getConsole({ machineId: 'serial-1' })).readers.length).toBe(1);
  });

  it('says to a viewer what is missing', { tags: ['extended'] }, async () => {
    const page = await console.open({ role: 'viewer', path: '/machines/serial-1/console' });
    const panel = page.getByRole('region', { name: 'Serial console' });
    await panel.getByText('This needs the role operator').first().waitFor();
  });
});
