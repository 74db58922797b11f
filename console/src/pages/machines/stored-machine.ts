/** Converts an API machine to the domain's type, so that the server's filter predicate can be applied to it. */

import type { Presence } from '../../../../src/domain/agent/presence.ts';
import { summaryOfMessage } from '../../../../src/domain/hardware/summary-message.ts';
import type { InstallState } from '../../../../src/domain/install/install-state.ts';
import type { Machine } from '../../../../src/domain/machine/machine.ts';
import type { OperationType } from '../../../../src/domain/operation/operation-type.ts';
import type { MachineView } from '../../machine-view.ts';
import { msOf } from '../../ui/time.tsx';

export function storedMachine(view: MachineView): Machine {
  const { status, createdAt, updatedAt } = view.message;
  const date = (at: Parameters<typeof msOf>[0]) => new Date(msOf(at) ?? 0);
  return {
    machineId: view.machineId,
    labels: view.labels,
    spec: view.spec,
    phase: view.phase,
    service: view.service,
    install: view.install === '' ? null : (view.install as InstallState),
    presence: view.presence === '' ? null : (view.presence as Presence),
    pool: view.pool === '' ? null : view.pool,
    conditions: view.conditions,
    observed: null,
    maintenance: status?.maintenance
      ? {
          since: date(status.maintenance.since).toISOString(),
          until: status.maintenance.until ? date(status.maintenance.until).toISOString() : null,
          reason: status.maintenance.reason,
          by: status.maintenance.by,
          exitsByItself: status.maintenance.exitsByItself,
        }
      : null,
    hardware: summaryOfMessage(status?.hardware),
    lemonScore: status?.lemonScore ?? 0,
    locating: null,
    activeOperationId: view.activeOperationId,
    activeOperationType: status?.activeOperationType ? (status.activeOperationType as OperationType) : null,
    enteredServiceAt: status?.enteredServiceAt ? date(status.enteredServiceAt) : null,
    effectiveSince: date(status?.effectiveSince),
    serviceSince: date(status?.serviceSince),
    installSince: date(status?.installSince),
    createdAt: date(createdAt),
    updatedAt: date(updatedAt),
  };
}
