/** How much power a machine draws, and how much it may, as its BMC says. */
export interface PowerReading {
  /** Null: the BMC does not say. */
  readonly watts: number | null;
  /** Null: there is no limit. */
  readonly limitWatts: number | null;
  /** Of all its supplies together; null: not said. */
  readonly capacityWatts: number | null;
  /** What a limit may be; null: not said. */
  readonly lowestLimitWatts: number | null;
  readonly highestLimitWatts: number | null;
  /** Where the limit is set; null: none can be set. */
  readonly limitAt: string | null;
}

/** No machine draws more: what is above is a mistake of a unit. */
const MAX_LIMIT_WATTS = 100_000;

/** Null: it is not a limit that a machine may have. */
export function limitWatts(watts: number): number | null {
  return Number.isInteger(watts) && watts >= 1 && watts <= MAX_LIMIT_WATTS ? watts : null;
}
