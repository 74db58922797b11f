/** Asked for again whenever something happens to the operation; see live.tsx. */
export function operationKey(operationId: string): readonly string[] {
  return ['operation', operationId, 'message'];
}
