/** The resets of the machine (ComputerSystem.Reset), listed in the action, by an ActionInfo, or nowhere. */
import { failure, ok, type SimulatedNoun, success } from '../simulated-noun.ts';

export const systemReset: SimulatedNoun = {
  routes: {
    'POST {system}/Actions/ComputerSystem.Reset': ({ bmc, body }) => {
      const { shape, system } = bmc;
      const type = String(body.ResetType);
      if (!shape.resets.includes(type))
        return failure(400, 'Base.1.8.ActionParameterNotSupported', `The value ${type} is not supported.`);
      if (bmc.fault === 'lying-power') return success(bmc);
      const { status, messageId } = shape.redundantReset;
      if (system.reset(type) === 'does not fit' && messageId !== '')
        return failure(status, messageId, 'The operation is not allowed in this power state.');
      return success(bmc);
    },
    'GET {system}/ResetActionInfo': ({ bmc: { shape }, path }) =>
      shape.resetsListed === 'info' ? ok(actionInfo(path, shape.resets)) : null,
  },
  adds: {
    system: ({ shape, systemPath }) => {
      const listed = {
        action: { 'ResetType@Redfish.AllowableValues': shape.resets },
        info: { '@Redfish.ActionInfo': `${systemPath}/ResetActionInfo` },
        none: {},
      }[shape.resetsListed];
      const target = `${systemPath}/Actions/ComputerSystem.Reset`;
      return { Actions: { '#ComputerSystem.Reset': { target, ...listed } } };
    },
  },
};

function actionInfo(path: string, resets: readonly string[]) {
  const parameter = { Name: 'ResetType', Required: true, DataType: 'String', AllowableValues: resets };
  return {
    '@odata.id': path,
    '@odata.type': '#ActionInfo.v1_1_2.ActionInfo',
    Id: 'ResetActionInfo',
    Name: 'Reset',
    Parameters: [parameter],
  };
}
