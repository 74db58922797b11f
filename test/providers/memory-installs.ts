/** The install layer as a provider sees it, for tests of providers. */
import type { BurnIn } from '../../src/domain/hardware/burn-in.ts';
import type { InstallOrderView, NetworkInstalls } from '../../src/providers/network-installs.ts';

/** One order, as a value. */
export class MemoryInstalls implements NetworkInstalls {
  order_: InstallOrderView | null = null;
  checkStart() {}
  checkErase() {}
  async read() {
    return this.order_;
  }
  async order(
    _machineId: string,
    { operationId, key, image }: { operationId: string; key: string; image: string },
  ) {
    if (this.order_?.operationId === operationId && this.order_.key === key) return;
    this.order_ = { ...NEW_ORDER, state: 'pending', operationId, key, image };
  }
  async orderErase(_machineId: string, { operationId, key }: { operationId: string; key: string }) {
    if (this.order_?.operationId === operationId) return;
    this.order_ = { ...NEW_ORDER, state: 'deprovisioning', operationId, key };
  }
  async issueBootUrl() {
    return { obstacle: 'the test boots by PXE' };
  }
  async isCurrentBootUrl() {
    return false;
  }
  async dropBootUrl() {}
  /** The disc that an operation has inserted. */
  media: string | null = null;
  async insertsMedia(_machineId: string, _operationId: string, url: string) {
    this.media = url;
  }
  async hasInsertedMedia() {
    return this.media !== null;
  }
  async isInsertedMedia(_machineId: string, url: string) {
    return this.media === url;
  }
  async ejectedMedia() {
    this.media = null;
  }
  async sentIntoBoot() {
    if (this.order_) this.order_ = { ...this.order_, wasSent: true };
  }
  async giveUp() {
    this.order_ = null;
  }
  burnIn: BurnIn | null = null;
  burnIns: NetworkInstalls['burnIns'] = {
    check: () => {},
    read: async () => this.burnIn,
    order: async (order) => {
      if (this.burnIn?.key === order.key) return;
      const at = new Date();
      const fresh = { state: 'ordered', percent: 0, results: [], inventory: null, error: '' } as const;
      this.burnIn = { ...order, ...fresh, orderedAt: at, sentAt: null, seenAt: null, endedAt: null };
    },
    sent: async () => {
      if (this.burnIn) this.burnIn = { ...this.burnIn, sentAt: new Date() };
    },
    giveUp: async () => {
      this.burnIn = null;
    },
  };
}

const NEW_ORDER: InstallOrderView = {
  state: 'pending',
  progress: null,
  attempts: 0,
  lastError: '',
  operationId: null,
  key: '',
  image: '',
  hasBooted: false,
  wasSent: false,
  bootEnded: false,
  isAtWork: false,
  isGivenUp: false,
  erasure: null,
  hasUsedMedia: false,
  lastActivityAt: new Date(),
};
