/** What a fleet can take, and how much of it is kept for critical requests. */
export interface FleetOptions {
  /** Requests a second that all processes together can serve. */
  readonly capacity: number
  /** The share of that which only critical requests may use. Default: 0.2. */
  readonly reserved?: number
}

export const DEFAULT_RESERVED = 0.2

/**
 * Returns how many non-critical requests a second a fleet admits: the capacity without the reserve. Critical ones are
 * not counted and never shed. At least 1, so that a fleet with a reserve of nearly everything still serves some.
 */
export function fleetAllotment({ capacity, reserved = DEFAULT_RESERVED }: FleetOptions): number {
  // 0.1 * 30 is 3.0000000000000004 to a computer.
  return Math.max(1, Math.floor(capacity * (1 - reserved) + 1e-9))
}
