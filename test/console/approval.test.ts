// @module-tag extended: api/approvals.test.ts has the same approvals; reimage.test.ts works in the browser.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { CHROMIUM, Console, expectAccessible, screenshot } from './console.ts';

describe.skipIf(CHROMIUM.isMissing)(CHROMIUM.title('an approval, in the browser'), () => {
  let console: Console;
  beforeAll(async () => {
    const approvals = approvalsConfiguration.parse([{ name: 'reboots', filter: 'type=REBOOT' }]);
    console = await Console.start({ configuration: { approvals } });
  });
  afterAll(() => console.stop());

  async function waitingReboot() {
    const machineId = await newMachine(console.server, { phase: 'MAINTENANCE' });
    const { secret } = await console.server.admin.createToken({ name: fresh('requester'), role: 'operator' });
    const machines = console.server.client(MachineService, secret);
    return machines.rebootMachine({ machineId, requestId: fresh('reboot') });
  }

  it('is given on the page of the operation, which then runs to its end', async () => {
    const { operationId } = await waitingReboot();
    const page = await console.open({ path: `/operations/${operationId}` });
    const panel = page.getByRole('region', { name: 'Approval' });
    await panel.getByText('Waiting for approval').waitFor();
    await expectAccessible(page);
    await screenshot(page, 'approval-waiting');
    await panel.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
    await panel.getByText(/Approved by operator:operator-\d+/).waitFor();
    await page.getByText('SUCCEEDED').first().waitFor();
  });

  it('is refused with a reason', { tags: ['extended'] }, async () => {
    const { operationId } = await waitingReboot();
    const page = await console.open({ path: `/operations/${operationId}` });
    const panel = page.getByRole('region', { name: 'Approval' });
    await panel.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Reason' }).fill('not today');
    await page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }).click();
    await panel.getByText(/Rejected by .* not today/).waitFor();
    await page.getByText('CANCELED').first().waitFor();
  });

  it('cannot be given by the requester or a viewer, and the button says why', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(console.server, { phase: 'MAINTENANCE' });
    const { operationId } = await console.server.machines.rebootMachine({
      machineId,
      requestId: fresh('reboot'),
    });
    const viewer = await console.open({ role: 'viewer', path: `/operations/${operationId}` });
    const approve = viewer.getByRole('button', { name: 'Approve' });
    expect(await approve.getAttribute('aria-disabled')).toBe('true');
  });
});
