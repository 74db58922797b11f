/** Notices of what any replica commits wake the parts of this one that wait for it. */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Dispatcher } from '../../engine/dispatcher.ts';
import type { RolloutRunner } from '../../reconcilers/rollout-runner/rollout-runner.ts';
import type { AuditSealer } from '../../store/audit/audit-sealer.ts';
import type { Notice } from '../../store/database/notifications.ts';
import { Notifications } from '../../store/database/notifications.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Store } from './open-store.ts';

export interface NoticeReceivers {
  readonly store: Store;
  readonly sealer: Pick<AuditSealer, 'notify'>;
  readonly dispatcher: Dispatcher<MachineChange>;
  readonly tokensChanged: () => void;
  readonly rollouts: Pick<RolloutRunner, 'rolloutsChanged' | 'eventsCommitted'>;
}

/** Any of these may have been missed while there was no connection. */
const ANYTHING = ['events', 'due', 'logs', 'tokens', 'rollouts'] as const satisfies readonly Notice[];

export function createNotifications(receivers: NoticeReceivers, watch: LoopWatch): Notifications {
  return new Notifications(receivers.store.database, {
    onNotice: (notice) => receive(notice, receivers),
    onConnected: () => {
      receivers.store.consoleSignals.notifyAll();
      for (const notice of ANYTHING) receive(notice, receivers);
    },
    watch,
  });
}

function receive(notice: Notice, receivers: NoticeReceivers): void {
  const { store, sealer, dispatcher, tokensChanged, rollouts } = receivers;
  switch (notice) {
    case 'events':
      store.feed.notify();
      sealer.notify();
      store.logs.notify();
      rollouts.eventsCommitted();
      return;
    case 'rollouts':
      rollouts.rolloutsChanged();
      return;
    case 'due':
      dispatcher.wake();
      return;
    case 'logs':
      store.logs.notify();
      return;
    case 'tokens':
      tokensChanged();
      return;
    default:
      if (notice.startsWith('console:')) store.consoleSignals.notify(notice.slice('console:'.length));
      else dispatcher.cancelRequested(notice.slice('cancel:'.length));
  }
}
