import { operationOf } from '../providers/provider.ts';
import type { ControlPlane } from './control-plane.ts';

/** For steps that need nothing of the control plane: a call of it fails. */
export const NO_CONTROL_PLANE = {
  nodeServices: {},
  hardware: {},
  inventories: {},
  evidence: {},
} as unknown as ControlPlane;

/** Keeps in memory which operations have a certificate. */
export function memoryEvidence(): ControlPlane['evidence'] {
  const recorded = new Set<string>();
  return {
    isRecorded: async (call) => recorded.has(operationOf(call)),
    record: async (call) => {
      recorded.add(operationOf(call));
    },
  };
}
