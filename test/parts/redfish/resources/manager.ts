/** The restart of the BMC itself (Manager.Reset): its sessions end, and it does not answer for a while. */
import { failure, MANAGER, type SimulatedNoun, success } from '../simulated-noun.ts';

const RESET = `${MANAGER}/Actions/Manager.Reset`;

export const manager: SimulatedNoun = {
  routes: {
    [`POST ${RESET}`]: ({ bmc, body }) => {
      const type = String(body.ResetType);
      if (!bmc.shape.managerResets.includes(type))
        return failure(400, 'Base.1.8.ActionParameterNotSupported', `The value ${type} is not supported.`);
      bmc.managerResets.push(type);
      bmc.restart();
      return success(bmc);
    },
  },
  adds: {
    manager: ({ shape }) => ({
      Actions: {
        '#Manager.Reset': { target: RESET, 'ResetType@Redfish.AllowableValues': shape.managerResets },
      },
    }),
  },
};
