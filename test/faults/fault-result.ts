/** What came of one fault, for the table that `npm run faults` prints. */
export interface FaultResult {
  readonly fault: string;
  /** Operations that the API accepted. */
  readonly accepted: number;
  readonly lost: number;
  /** Done, reported or ended more than once. */
  readonly doubled: number;
  readonly needingHuman: number;
  /** From the fault until everything that was under way has moved on. */
  readonly recoverySeconds: number;
  /** Promises that were broken, in words; empty means none. */
  readonly problems: readonly string[];
}

const COLUMNS = {
  fault: ({ fault }) => fault,
  accepted: ({ accepted }) => String(accepted),
  lost: ({ lost }) => String(lost),
  doubled: ({ doubled }) => String(doubled),
  'needing a human': ({ needingHuman }) => String(needingHuman),
  'seconds to recover': ({ recoverySeconds }) => recoverySeconds.toFixed(1),
  '': ({ problems }) => (problems.length === 0 ? 'ok' : `${problems.length} broken promises`),
} as const satisfies Record<string, (result: FaultResult) => string>;

/** Lines of text; the first names the columns. */
export function tableOf(results: readonly FaultResult[]): string[] {
  const rows = [
    Object.keys(COLUMNS),
    ...results.map((result) => Object.values(COLUMNS).map((cell) => cell(result))),
  ];
  const widths = Object.keys(COLUMNS).map((_, index) =>
    Math.max(...rows.map((row) => row[index]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function isGood({ lost, doubled, needingHuman, problems }: FaultResult): boolean {
  return lost + doubled + needingHuman + problems.length === 0;
}
