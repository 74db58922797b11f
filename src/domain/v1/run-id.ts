/** A run of the v1 API is an operation, and its id is the operation's with another prefix. */
const RUN_PREFIX = 'run-';
const OPERATION_PREFIX = 'op-';

/** The operation's id from either spelling; also takes the start of an id, for prefix filters. */
export function operationIdOf(id: string): string {
  return id.startsWith(RUN_PREFIX) ? OPERATION_PREFIX + id.slice(RUN_PREFIX.length) : id;
}

/** The id as the v1 API prints it. */
export function runIdOf(operationId: string): string {
  return operationId.startsWith(OPERATION_PREFIX)
    ? RUN_PREFIX + operationId.slice(OPERATION_PREFIX.length)
    : operationId;
}
