/** Notices of what any replica commits wake the parts of this one that wait for it. */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Dispatcher } from '../../engine/dispatcher.ts';
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
}

/** Any of these may have been missed while there was no connection. */
const ANYTHING = ['events', 'due', 'logs', 'tokens'] as const satisfies readonly Notice[];

export function createNotifications(receivers: NoticeReceivers, watch: LoopWatch): Notifications {
  return new Notifications(receivers.store.database, {
    onNotice: (notice) => receive(notice, receivers),
    onConnected: () => {
      for (const notice of ANYTHING) receive(notice, receivers);
    },
    watch,
  });
}

function receive(notice: Notice, { store, sealer, dispatcher, tokensChanged }: NoticeReceivers): void {
  switch (notice) {
    case 'events':
      store.feed.notify();
      sealer.notify();
      store.logs.notify();
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
      dispatcher.cancelRequested(notice.slice('cancel:'.length));
  }
}
