import { deploysImages } from '../../providers/provider.ts';
import { completeStep, defineStep } from '../../steps/registry.ts';
import type { Recipe } from './recipe.ts';
import { withRequiredVerification } from './required-verification.ts';

/**
 * Netboot, reboot, write the image; then join the cluster that the machine is meant for, if it names one. A deployment
 * boots the machine by itself: there a reboot would only start the old system once more.
 */
export const reimageMachine: Recipe = {
  type: 'REIMAGE',
  params: (asked, provider) => ({ image_ref: asked.image_ref || provider.defaultImage }),
  steps: (machine, params, provider) => {
    const image = params.image_ref ?? '';
    const cluster = machine.spec.target_cluster_ref;
    const steps = [
      defineStep({
        name: 'netboot',
        kind: 'netboot',
        config: { mode: 'PXE', image },
        timeoutSeconds: 60,
        maxRetries: 2,
      }),
      ...(deploysImages(provider) ? [] : [REBOOT]),
      completeStep(
        defineStep({
          name: 'repave',
          kind: 'repave',
          config: { image },
          timeoutSeconds: 1800,
          maxRetries: 1,
        }),
        machine,
        provider,
      ),
    ];
    const first = withRequiredVerification(machine, steps);
    if (cluster === '') return first;
    const config = { cluster_ref: cluster };
    return [
      ...first,
      defineStep({ name: 'join', kind: 'join', config, timeoutSeconds: 600, maxRetries: 1 }),
      defineStep({ name: 'verify', kind: 'verify', config, timeoutSeconds: 300, maxRetries: 0 }),
    ];
  },
};

const REBOOT = defineStep({
  name: 'reboot',
  kind: 'reboot',
  config: { mode: 'bmc' },
  timeoutSeconds: 300,
  maxRetries: 2,
});
