/** Stages that give a machine back to MAAS, and take it out of there. */
import type { MachineChange } from '../domain/machine-change.ts';
import { idOf, type MaasStage, type Stage } from './maas-scene.ts';
import { ABSENT, countOf, countOne, done, failed, observedIn, started, underWay } from './stage-tools.ts';
import { callOf } from './step-kind.ts';

/** Nothing of ours is on its disks. */
const EMPTY: MachineChange = {
  conditions: [
    { type: 'Provisioned', status: false, reason: 'Released', message: 'it was given back to its upstream' },
  ],
};

export const RELEASING_STAGES = {
  release_maas_node: (scene, { erase }) => ({
    async observe(context) {
      const { machine, can } = scene;
      const systemId = idOf(scene);
      const seen = systemId === '' ? null : await can.maas.read(callOf(context, machine), systemId);
      const observed = observedIn(machine.spec.provider, seen, machine, context.now());
      if (seen === null) return done('MAAS has no such machine', { ...observed, ...EMPTY });
      if (['Ready', 'New', 'Retired'].includes(seen.status))
        return done(`MAAS says ${seen.status}`, { ...observed, ...EMPTY });
      if (seen.status === 'Releasing' || seen.status === 'Disk erasing')
        return underWay(context, `MAAS says ${seen.status}`);
      const isFailed = seen.status === 'Releasing failed' || seen.status === 'Failed disk erasing';
      if (isFailed && countOf(context, 'released') > 0) {
        return failed('retryable', 'RELEASE_FAILED', `MAAS says ${seen.status}: ${seen.statusMessage}`);
      }
      return ABSENT;
    },
    async act(context) {
      const call = callOf(context, scene.machine);
      const release = { erase, secureErase: erase, quickErase: false, comment: 'decommission' };
      // What runs on it will be gone, and must not count as alive until its time to live is over. Before the release,
      // so that whoever takes over after a death does both.
      await context.effect(() => scene.can.nodeServices.forgetSecrets(call));
      await context.effect(() => scene.can.maas.release(call, idOf(scene), release));
      await countOne(context, 'released');
      return started('MAAS releases the machine');
    },
  }),

  power_off_maas_node: (scene) => ({
    async observe(context) {
      const systemId = idOf(scene);
      const seen =
        systemId === '' ? null : await scene.can.maas.read(callOf(context, scene.machine), systemId);
      if (seen === null) return done('MAAS has no such machine');
      return seen.power === 'off' ? done('the power is off') : ABSENT;
    },
    async act(context) {
      await context.effect(() => scene.can.maas.powerOff(callOf(context, scene.machine), idOf(scene)));
      return started('waiting for the power to be off');
    },
  }),

  remove_maas_record: (scene) => ({
    async observe(context) {
      const { machine, can } = scene;
      const systemId = idOf(scene);
      const seen = systemId === '' ? null : await can.maas.read(callOf(context, machine), systemId);
      if (seen !== null) return ABSENT;
      return done(
        'MAAS has no record of it',
        observedIn(machine.spec.provider, null, machine, context.now()),
      );
    },
    async act(context) {
      await context.effect(() => scene.can.maas.remove(callOf(context, scene.machine), idOf(scene)));
      return started('waiting for the record to be gone');
    },
  }),
} as const satisfies Partial<Record<MaasStage, Stage>>;
