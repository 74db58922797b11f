/** What a BMC does beside booting its machine, over Redfish. */
import { isBootSet } from '../../../domain/hardware/boot-override.ts';
import { readBootOverride, setBootSource } from '../../../redfish/boot/boot-override.ts';
import { changePassword } from '../../../redfish/manager/account.ts';
import { clearEventLog, countEntries } from '../../../redfish/manager/log-service.ts';
import { resetManager } from '../../../redfish/manager/manager-reset.ts';
import type { RedfishServices } from '../../../redfish/service/redfish-services.ts';
import { readIndicator, setIndicator } from '../../../redfish/system/indicator.ts';
import { readPower, setPowerLimit } from '../../../redfish/system/power-limit.ts';
import { offersReset, powerOf, reset } from '../../../redfish/system/system-power.ts';
import type { BmcAdministration } from '../../bmc-administration.ts';
import type { BmcLogins } from '../bmc/bmc-logins.ts';
import { createPasswordMethods } from '../bmc/bmc-password.ts';
import { bootDeviceNotSet } from '../bmc/bmc-refusal.ts';

export function createRedfishAdministration(services: RedfishServices, logins: BmcLogins): BmcAdministration {
  return {
    power: (call) => services.use(call, async (service) => powerOf(await service.system(), service.where)),
    offersPower: (call, request) => services.use(call, (service) => offersReset(service, request)),
    changePower: (call, request) => services.use(call, (service) => reset(service, request, call.log)),
    indicator: (call) => services.use(call, readIndicator),
    setIndicator: (call, to) => services.use(call, (service) => setIndicator(service, to, call)),
    powerReading: (call) => services.use(call, readPower),
    setPowerLimit: (call, watts) => services.use(call, (service) => setPowerLimit(service, watts, call)),
    logEntries: (call) => services.use(call, countEntries),
    clearLog: (call) => services.use(call, (service) => clearEventLog(service, call.log)),
    resetBmc: (call) => services.use(call, (service) => resetManager(service, call.log)),
    bootOverride: (call) => services.use(call, readBootOverride),
    setBootOverride: (call, request) =>
      services.use(call, async (service) => {
        const read = await setBootSource(service, request, call.signal, call.log);
        if (!isBootSet(read, request)) throw bootDeviceNotSet(service.where, request.source, read.source);
        call.log(`The BMC says: next boot from ${read.source}`);
      }),
    certificate: (call) => services.certificate(call),
    ...createPasswordMethods(logins, {
      logIn: async (call, login) => {
        await services.use(call, (service) => service.system(), login);
      },
      change: (call, login, password) =>
        services.use(call, (service) => changePassword(service, login.user, password), login),
    }),
  };
}
