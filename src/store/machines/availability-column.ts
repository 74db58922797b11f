/** Availability over the columns of a machine. The rules are a function of the database, because an index has them. */

/** The reason, or NULL: available, never in service, or out of it for good. */
export const UNAVAILABLE_COLUMN =
  'ingot_unavailable_reason(phase, service, presence, conditions, active_operation_type, entered_service_at)';

/** Whether a machine counts: it was in service, and has not left it, or the operation that takes it out is under way. */
export const IN_SERVICE_CONDITION = `(entered_service_at IS NOT NULL AND
  (coalesce(service NOT IN ('retired', 'removing', 'deleted'), true) OR ${UNAVAILABLE_COLUMN} IS NOT NULL))`;

/** NULL for a machine that does not count. */
export const AVAILABLE_COLUMN = `(CASE WHEN ${IN_SERVICE_CONDITION} THEN ${UNAVAILABLE_COLUMN} IS NULL END)`;
