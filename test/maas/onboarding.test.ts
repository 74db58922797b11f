/** Machines from bare metal into service, against a simulated MAAS. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { INTERVENTIONS, type InterventionCode } from '../../src/domain/condition/intervention.ts';
import { FAILURES } from '../../src/domain/error/failure-code.ts';
import { OPERATOR_ACTIONS } from '../../src/domain/operation/operator-action.ts';
import { ONBOARDING } from '../../src/domain/workflow/stage.ts';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { EffectiveState_Value, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { everythingStored } from '../parts/everything-stored.ts';
import type { MachineFault } from '../parts/maas/faults.ts';
import { refusal } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  act,
  ended,
  newMachine,
  onboard,
  openMaasSite,
  requestId,
  startMaasServer,
  statusOf,
} from './fleet.ts';
import { encoded, server, serviceHistory, setUpOnboardingSite, site, TIME_LIMIT } from './onboarding-site.ts';

setUpOnboardingSite();

// Each has its own machine, and faults are set per machine: they can run concurrently.
describe.concurrent('onboarding', () => {
  it(
    'takes an unknown machine through sixteen stages into service, and its agent enrols by itself',
    async () => {
      const { id, mac } = await newMachine(server);
      const started = await onboard(server, id);
      expect(await statusOf(server, id)).toMatchObject({
        service: 'enrolling',
        activeOperationId: started.operationId,
      });
      const operation = await ended(server, started);
      expect(operation).toMatchObject({ status: 'completed', params: { pool: 'gpu' } });
      expect(operation.steps.map(({ name }) => name)).toEqual(ONBOARDING);
      const status = await statusOf(server, id);
      expect(status).toMatchObject({
        service: 'active',
        presence: 'ready',
        pool: 'gpu',
        observed: { source: 'site-a', state: 'Deployed', power: 'on' },
        // In service, and not "new, needs setup".
        phase: MachineStatus_Phase.READY,
        effectiveState: EffectiveState_Value.IDLE,
      });
      expect(await serviceHistory(id)).toEqual(['>enrolling', 'enrolling>active']);
      const [known] = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      expect(known?.status_name).toBe('Deployed');
    },
    TIME_LIMIT,
  );

  it.each(['New', 'Ready', 'Deployed'])(
    'adopts a machine that MAAS has as %s already',
    async (status) => {
      const { id, mac } = await newMachine(server);
      await site.simulator.admin.addMachine({
        mac_addresses: [mac],
        hostname: `found-${status.toLowerCase()}`,
        status,
      });
      const operation = await onboard(server, id);
      if (status === 'Deployed') {
        // Another user deployed it, without hardware sync and without our agent: an operator decides.
        const waiting = await until(
          () => server.operations.getOperation({ operationId: operation.operationId }),
          ({ currentStep, finishedAt }) =>
            finishedAt !== undefined ||
            currentStep === 'wait_for_agent_enrollment' ||
            currentStep.includes('hardware'),
          60_000,
        );
        expect(waiting.steps.find(({ name }) => name === 'deploy_via_maas')?.message).toContain('Deployed');
        expect(await ended(server, operation)).toMatchObject({ error: { code: 'HARDWARE_SYNC_OFF' } });
        return;
      }
      expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
      const all = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      expect(all).toHaveLength(1);
    },
    TIME_LIMIT,
  );

  it('needs a pool that exists, a provider with MAAS, and a machine that is in no service yet', async () => {
    const { id } = await newMachine(server);
    const call = (machineId: string, pool: string) =>
      refusal(server.admin.onboardMachine({ machineId, pool, requestId: requestId() }));
    expect(await call(id, '')).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await call(id, 'nowhere')).toMatchObject({ code: 'INVALID_ARGUMENT' });
    await server.machines.registerMachine({ machine: { machineId: 'fake-1', spec: { provider: 'fake' } } });
    expect(await call('fake-1', 'gpu')).toMatchObject({
      reason: 'CAPABILITY_MISSING',
      metadata: { capability: 'maas' },
    });
  });

  it(
    'no secret is in any row, event, log or answer',
    async () => {
      const { id, mac } = await newMachine(server);
      const operation = await ended(server, await onboard(server, id));
      const [known] = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      const details = await site.simulator.admin.machine(known?.system_id ?? '');
      const token = /INGOT_MACHINE_TOKEN=([\w-]+)/.exec(details.user_data)?.[1] ?? '';
      expect(token).toMatch(/^ingot_/);
      expect(details.power_parameters.power_pass).toBe(site.bmcPassword);
      const json = JSON.stringify(operation, (_key, part: unknown) =>
        typeof part === 'bigint' ? String(part) : part,
      );
      const everything = [await everythingStored(server), json].join('\n');
      // The scan sees what is there: bytes too, as hexadecimal digits.
      const hash = createHash('sha256').update(token).digest('hex');
      expect([everything.includes(hash), everything.includes(id)]).toEqual([true, true]);
      const key = site.simulator.apiKey;
      const secrets = [token, token.replace('ingot_', ''), site.bmcPassword, key, ...key.split(':').slice(1)];
      const forms = [...secrets, details.user_data].flatMap((secret) => [
        secret,
        encoded(secret, 'hex'),
        encoded(secret, 'base64'),
      ]);
      expect(forms.filter((form) => everything.includes(form))).toEqual([]);
    },
    TIME_LIMIT,
  );
});

describe.concurrent('what needs a human (§7)', () => {
  const TRIGGERS: ReadonlyArray<readonly [MachineFault, string, InterventionCode]> = [
    ['conflicting_candidates', 'create_or_find_in_maas', 'CONFLICTING_CANDIDATES'],
    ['no_boss_disk', 'configure_storage', 'BOOT_DISK_NOT_FOUND'],
    ['pxe_stays_wrong', 'ensure_pxe_interface_auto', 'PXE_NOT_FIXABLE'],
    ['deleted_midway', '', 'MACHINE_GONE'],
    ['deployment_failure', 'classify_deploy_failure', 'DEPLOYMENT_FAILED'],
  ];

  it.each(TRIGGERS)(
    '%s stops at %s with %s, and says which action leads on',
    async (fault, stage, code) => {
      const { id, mac } = await newMachine(server);
      if (fault === 'conflicting_candidates') {
        await site.simulator.admin.addMachine({ mac_addresses: [mac], hostname: 'one' });
      }
      await site.simulator.admin.fault({ fault, mac, times: null });
      const operation = await ended(server, await onboard(server, id));
      expect(operation).toMatchObject({ status: 'failed_manual_intervention', error: { code } });
      if (stage !== '') expect(operation.error?.details.step).toBe(stage);
      const { leaves } = INTERVENTIONS[code];
      expect(await statusOf(server, id)).toMatchObject({ service: leaves, activeOperationId: '' });
      const explained = await server.admin.explainMachine({ machineId: id });
      expect(explained.inService).toBe(false);
      const { action, who } = FAILURES[code];
      expect(explained.obstacles[0]).toMatchObject({ action, who });
      const { verb } = OPERATOR_ACTIONS[action];
      expect(explained.obstacles[0]?.command).toContain(`op ${verb} ${operation.operationId}`);
    },
    TIME_LIMIT,
  );

  it('a datasource that fails twice is recovered from; one that keeps failing is not', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const lucky = await newMachine(server);
    await site.simulator.admin.fault({ fault: 'datasource_failure', mac: lucky.mac, times: 2 });
    expect(await ended(server, await onboard(server, lucky.id))).toMatchObject({ status: 'completed' });
    const unlucky = await newMachine(server);
    await site.simulator.admin.fault({ fault: 'datasource_failure', mac: unlucky.mac, times: null });
    expect(await ended(server, await onboard(server, unlucky.id))).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'DATASOURCE_FAILED', details: { step: 'recover_for_datasource_retry' } },
    });
  });

  it.each([
    ['hardware_sync_failing', 'wait_for_hardware_sync_healthy', 'HARDWARE_SYNC_FAILED'],
    ['agent_never_enrols', 'wait_for_agent_enrollment', 'AGENT_NEVER_ENROLLED'],
  ] as const)(
    '%s is waited for as long as the site allows, and then an operator must inspect it',
    { tags: ['extended'], timeout: TIME_LIMIT },
    async (fault, step, code) => {
      const hasty = await openMaasSite({ waits: { hardware_sync_seconds: 3, agent_seconds: 3 } });
      const waiting = await startMaasServer(hasty);
      try {
        const { id, mac } = await newMachine(waiting);
        await hasty.simulator.admin.fault({ fault, mac, times: null });
        const failed = await ended(waiting, await onboard(waiting, id));
        expect(failed).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code, details: { step, failure_class: 'needs_human' } },
        });
        expect(await statusOf(waiting, id)).toMatchObject({ service: 'enrolling', activeOperationId: '' });
        // What is fixed goes on: another attempt waits once more.
        await hasty.simulator.admin.clearFaults();
        if (fault === 'agent_never_enrols') return;
        const action = OperatorAction_Value.RESUME;
        await waiting.admin.actOnOperation({ operationId: failed.operationId, action, reason: 'fixed' });
        expect(await ended(waiting, failed)).toMatchObject({ status: 'completed' });
      } finally {
        await waiting.stop();
        await hasty.stop();
      }
    },
  );
});

/** Alone: it takes every fault away. */
describe('after the cause is fixed', () => {
  it(
    'an operator fixes it and retries: the operation goes on from where it was',
    async () => {
      const { id, mac } = await newMachine(server);
      await site.simulator.admin.fault({ fault: 'pxe_stays_wrong', mac, times: null });
      const operation = await ended(server, await onboard(server, id));
      expect(operation.error?.code).toBe('PXE_NOT_FIXABLE');
      await site.simulator.admin.clearFaults();
      await act(server, operation, 'RETRY_STAGE');
      const again = await ended(server, operation);
      expect(again.error).toBeUndefined();
      expect(again).toMatchObject({ status: 'completed' });
      expect(await statusOf(server, id)).toMatchObject({ service: 'active' });
    },
    TIME_LIMIT,
  );
});
