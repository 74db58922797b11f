/** Cancels operations that no one approved in time. Every replica looks; the row's lock lets one of them decide. */
import { expireApproval } from '../operations/act/approve-operation.ts';
import type { Database } from '../store/database/database.ts';
import { unansweredApprovals } from '../store/operations/unanswered-approvals.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface ApprovalExpiryOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
}

const EVERY_MS = 5_000;
const PIECE = 100;

export class ApprovalExpiry {
  readonly #database: Database;
  readonly #loop: BackgroundLoop;

  constructor({ database, watch }: ApprovalExpiryOptions) {
    this.#database = database;
    this.#loop = new BackgroundLoop({
      name: 'expiring approvals',
      everyMs: EVERY_MS,
      pass: () => this.#pass(),
      watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass() {
    const unanswered = await unansweredApprovals(this.#database, PIECE);
    for (const operationId of unanswered) await expireApproval(this.#database, operationId);
    return unanswered.length === PIECE ? { nextInMs: 0 } : 'passed';
  }
}
