/** The boot override of the machine (ComputerSystem.Boot), in the system or in the object of its pending settings. */

import {
  type Answer,
  type Body,
  failure,
  link,
  preconditionFailure,
  type SimulatedNoun,
  type SimulatedRequest,
  success,
  versioned,
} from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';
import { changeBootOrder } from './boot-options.ts';
import { changeIndicator } from './indicator.ts';

export const systemBoot: SimulatedNoun = {
  routes: {
    'PATCH {system}': (request) =>
      changeIndicator(request, 'system') ?? (request.bmc.shape.bootAt === 'system' ? change(request) : null),
    'PATCH {system}/Settings': (request) =>
      request.bmc.shape.bootAt === 'settings' ? change(request) : null,
    'GET {system}/Settings': ({ bmc, path }) =>
      bmc.shape.bootAt === 'settings'
        ? versioned(
            bmc,
            {
              '@odata.id': path,
              Id: 'Settings',
              Name: 'Settings',
              Boot: { ...bootOf(bmc), BootOrder: bmc.bootOrder.pending ?? bmc.bootOrder.order },
            },
            bmc.system.version,
          )
        : null,
  },
  adds: {
    system: (bmc) => ({
      Boot: bmc.shape.bootAt === 'system' ? bootOf(bmc) : {},
      ...(bmc.shape.bootAt === 'settings'
        ? {
            '@Redfish.Settings': {
              '@odata.type': '#Settings.v1_3_0.Settings',
              SettingsObject: link(`${bmc.systemPath}/Settings`),
            },
          }
        : {}),
    }),
  },
};

function bootOf({ shape, system: { boot }, fault }: RedfishSimulator): Body {
  const { bootTargets, bootLengths, listsLengths, httpBoot } = shape;
  const shown = fault === 'once-reads-continuous' && boot.enabled === 'Once' ? 'Continuous' : boot.enabled;
  return {
    BootSourceOverrideEnabled: shown,
    BootSourceOverrideTarget: boot.target,
    BootSourceOverrideMode: boot.mode,
    UefiTargetBootSourceOverride: boot.uefiTarget || null,
    ...(httpBoot === 'none' ? {} : { HttpBootUri: httpBoot === 'offered' ? boot.httpUri || null : null }),
    ...(bootTargets.length > 0 ? { 'BootSourceOverrideTarget@Redfish.AllowableValues': bootTargets } : {}),
    ...(bootLengths && listsLengths
      ? { 'BootSourceOverrideEnabled@Redfish.AllowableValues': bootLengths }
      : {}),
  };
}

function change(request: SimulatedRequest): Answer {
  const { bmc } = request;
  const { shape, system } = bmc;
  const boot = (request.body.Boot ?? {}) as Readonly<Record<string, string | undefined>>;
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = boot;
  const { BootSourceOverrideMode: mode, HttpBootUri: httpUri } = boot;
  const { UefiTargetBootSourceOverride: uefiTarget } = boot;
  const refused =
    preconditionFailure(request, system.version) ?? problemOf(bmc, boot) ?? changeBootOrder(bmc, boot);
  if (refused) return refused;
  if (bmc.fault !== 'ignores-boot')
    system.change(
      {
        ...(httpUri === undefined ? {} : { httpUri }),
        ...(uefiTarget === undefined ? {} : { uefiTarget }),
        ...(target === undefined ? {} : { target }),
        ...(enabled === undefined ? {} : { enabled }),
        ...(mode === undefined ? {} : { mode }),
      },
      shape,
    );
  return success(bmc);
}

function problemOf(
  { shape }: RedfishSimulator,
  boot: Readonly<Record<string, string | undefined>>,
): Answer | null {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = boot;
  if (shape.bootMode === 'read-only' && boot.BootSourceOverrideMode !== undefined)
    return failure(400, 'Base.1.8.PropertyNotWritable', 'The property BootSourceOverrideMode is read only.');
  if (target !== undefined && shape.bootTargets.length > 0 && !shape.bootTargets.includes(target))
    return failure(400, 'Base.1.8.PropertyValueNotInList', `The value ${target} is not in the list.`);
  if (enabled !== undefined && shape.bootLengths && !shape.bootLengths.includes(enabled))
    return failure(400, 'Base.1.8.PropertyValueNotInList', `The value ${enabled} is not in the list.`);
  if (boot.HttpBootUri !== undefined && (shape.httpBoot === 'none' || shape.httpBoot === 'refused'))
    return failure(400, 'Base.1.8.PropertyUnknown', 'The property HttpBootUri is not known.');
  return null;
}
