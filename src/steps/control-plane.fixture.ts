import type { ControlPlane } from './control-plane.ts';

/** For steps that need nothing of the control plane: a call of it fails. */
export const NO_CONTROL_PLANE = {
  nodeServices: {},
  hardware: {},
  inventories: {},
} as unknown as ControlPlane;
