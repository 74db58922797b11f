/** A run is an operation in document 1's words, and so is its id: the same letters behind another prefix. */
const RUN_PREFIX = 'run-';
const OPERATION_PREFIX = 'op-';

/** The operation's id, from either spelling; of the start of an id, the start of the operation's. */
export function operationIdOf(id: string): string {
  return id.startsWith(RUN_PREFIX) ? OPERATION_PREFIX + id.slice(RUN_PREFIX.length) : id;
}

/** The id as document 1 prints it. */
export function runIdOf(operationId: string): string {
  return operationId.startsWith(OPERATION_PREFIX)
    ? RUN_PREFIX + operationId.slice(OPERATION_PREFIX.length)
    : operationId;
}
