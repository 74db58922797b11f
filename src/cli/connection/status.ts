/** The status codes of gRPC. Not from its library, which takes longer to load than most commands run. */
export const status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type StatusCode = (typeof status)[keyof typeof status];

const NAMES = new Map<number, string>(Object.entries(status).map(([name, code]) => [code, name]));

/** A code that gRPC does not have is UNKNOWN. */
export function nameOfStatus(code: number): string {
  return NAMES.get(code) ?? 'UNKNOWN';
}
