/** Refreshed by every event of the operation; see live.tsx. */
export function operationKey(operationId: string): readonly string[] {
  return ['operation', operationId, 'message'];
}
