/**
 * A start obeys every budget whose creation committed before the start did. It reads the budgets early and commits later, so it holds
 * them: starts share a lock that the creation of a budget takes alone. A creation waits for the starts that are in flight, and what
 * starts after it reads the new budget. The lock is taken before any row is, and in a statement before the one that reads the budgets.
 */
const KEY = 7_146_209;

/** For starts, as an expression. */
export const HOLD_BUDGETS = `pg_advisory_xact_lock_shared(${KEY})`;

/** For the creation of a budget, as an expression. */
export const LOCK_BUDGETS = `pg_advisory_xact_lock(${KEY})`;
