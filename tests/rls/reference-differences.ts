/** A Difference is a way in which answers are not those of envoyproxy/ratelimit, although they are to be. */
export interface Difference {
  /** What it is about. */
  readonly what: string
  readonly there: string
  readonly here: string
  readonly reason: string
  /** The cases that show it, and the fields that differ there. */
  readonly cases: readonly string[]
  readonly fields: RegExp
}

/** DIFFERENCES is all of them, as docs/migrate-from-envoy-ratelimit.md lists them. */
export const DIFFERENCES: readonly Difference[] = []
