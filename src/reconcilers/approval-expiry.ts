/** Cancels operations that no one approved in time. Every replica searches; the row's lock lets one of them decide. */
import { expireApproval } from '../operations/act/approve-operation.ts';
import type { Database } from '../store/database/database.ts';
import { unansweredApprovals } from '../store/operations/unanswered-approvals.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';

export interface ApprovalExpiryOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
}

const EVERY_MS = 5_000;
const BATCH = 100;

export function approvalExpiry({ database, watch }: ApprovalExpiryOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'expiring approvals',
    everyMs: EVERY_MS,
    pass: () => expireApprovals(database),
    watch,
  });
}

async function expireApprovals(database: Database): Promise<PassResult> {
  const unanswered = await unansweredApprovals(database, BATCH);
  for (const operationId of unanswered) await expireApproval(database, operationId);
  return unanswered.length === BATCH ? { nextInMs: 0 } : 'passed';
}
