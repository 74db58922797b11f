/** The administration of each machine's BMC, by the protocol that it is reached with. */
import type { Machine } from '../../../domain/machine/machine.ts';
import type { BmcAdministration } from '../../bmc-administration.ts';

/** What rules the machine out is thrown when a method is called, as everything else of it. */
export function administrationBy(of: (machine: Machine) => BmcAdministration): BmcAdministration {
  return {
    power: async (call) => of(call.machine).power(call),
    offersPower: async (call, request) => of(call.machine).offersPower(call, request),
    changePower: async (call, request) => of(call.machine).changePower(call, request),
    indicator: async (call) => of(call.machine).indicator(call),
    setIndicator: async (call, to) => of(call.machine).setIndicator(call, to),
    powerReading: async (call) => of(call.machine).powerReading(call),
    setPowerLimit: async (call, watts) => of(call.machine).setPowerLimit(call, watts),
    logEntries: async (call) => of(call.machine).logEntries(call),
    clearLog: async (call) => of(call.machine).clearLog(call),
    resetBmc: async (call) => of(call.machine).resetBmc(call),
    bootOverride: async (call) => of(call.machine).bootOverride(call),
    setBootOverride: async (call, request) => of(call.machine).setBootOverride(call, request),
    certificate: async (call) => of(call.machine).certificate(call),
    rotation: (machine) => of(machine).rotation(machine),
    passwordState: async (call, likely) => of(call.machine).passwordState(call, likely),
    preparePassword: async (call) => of(call.machine).preparePassword(call),
    changePassword: async (call) => of(call.machine).changePassword(call),
    promotePassword: async (call) => of(call.machine).promotePassword(call),
    dropPassword: async (call) => of(call.machine).dropPassword(call),
  };
}
