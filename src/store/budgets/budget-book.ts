/**
 * The budgets that hold: those of this replica's configuration, and those that are stored. A start must obey a budget from the
 * moment that its creation has committed, and most starts happen while no budget changes: so each start reads a version
 * number beside what it reads anyway, and the budgets only when that is another one than the last.
 */
import type { Budget } from '../../domain/budget/budget.ts';
import type { Limit } from '../../domain/budget/limit.ts';
import type { Session } from '../database/database.ts';
import { readBudgets } from './budgets.ts';

/** As an expression in any statement. */
export const BUDGET_VERSION = '(SELECT version FROM budget_version)';

export class BudgetBook {
  readonly configured: readonly Budget[];
  #stored: { readonly version: number; readonly limits: readonly Limit[] } | null = null;

  constructor(configured: readonly Budget[]) {
    this.configured = configured;
  }

  /** `version` was read in the same transaction. */
  async limits(session: Session, version: number): Promise<readonly Limit[]> {
    if (this.#stored?.version !== version) {
      const budgets = await readBudgets(session);
      const limits = [...this.configured, ...budgets].map(({ limit }) => limit);
      // What was read may be newer than the version: the next start reads it once more, and nothing older than its version.
      this.#stored = { version, limits };
    }
    return this.#stored.limits;
  }

  /** For what does not read the version beside something else. */
  async currentLimits(session: Session): Promise<readonly Limit[]> {
    const [row] = await session.run<{ version: number }>(
      'budget-version',
      `SELECT ${BUDGET_VERSION} AS version`,
    );
    return this.limits(session, row?.version ?? 0);
  }
}
