import { hardwareMismatch, notReportedYet } from '../../domain/machine/replacement.ts';
import { callOf, type StepKind } from '../step-kind.ts';
import { REPLACEMENT_CONFIG, type ReplacementConfig } from './replace-hardware.ts';

const POLL_AFTER_MS = 5_000;

/** Waits until the replacement boots or reports, and is what was asked for. */
export const awaitReplacement: StepKind<ReplacementConfig, never> = {
  kind: 'await-replacement',
  needs: () => [],
  config: REPLACEMENT_CONFIG,
  title: 'Waiting for the replacement',
  doneTitle: 'Replacement found',
  canUndo: false,
  handler: (wanted, { machine, controlPlane }) => {
    const [mac = ''] = wanted.mac_addresses;
    const waiting = `waiting for ${mac} to boot from the network or to report`;
    return {
      async observe(context) {
        const view = await controlPlane.hardware.read(callOf(context, machine));
        if (!view || view.seenAt === null)
          return { seen: 'under_way', reason: waiting, pollAfterMs: POLL_AFTER_MS };
        const mismatch = hardwareMismatch(wanted, view.facts);
        if (mismatch !== '') {
          const failure = { class: 'needs_human', code: 'HARDWARE_MISMATCH', message: mismatch } as const;
          return { seen: 'failed', failure };
        }
        const missing = notReportedYet(wanted, view.facts);
        if (missing !== '') {
          const reason = `${mac} was seen at ${view.seenAt}; waiting for it to report its ${missing}`;
          return { seen: 'under_way', reason, pollAfterMs: POLL_AFTER_MS };
        }
        const { serialNumber } = view.facts;
        const who = serialNumber === '' ? mac : `${mac} (serial ${serialNumber})`;
        return { seen: 'done', message: `the replacement ${who} was seen at ${view.seenAt}` };
      },
      async act() {
        return { result: 'started', reason: waiting, pollAfterMs: POLL_AFTER_MS };
      },
    };
  },
};
