/**
 * A Wait says when the next request comes, relative to the one before: after so many ms; after a share of the window;
 * at the next edge of a window (or of a sub-window), give or take a millisecond; at the moment that the last refusal
 * named, give or take a millisecond; or earlier, because the clock was set back by a share of the window.
 */
export type Wait = readonly ['ms' | 'share' | 'edge' | 'part' | 'retry' | 'back', number]

/** A number of hits, a share of the capacity, or what still fits plus or minus one. */
export type Cost = readonly ['hits' | 'share' | 'left', number]

/** The requests of one caller to one counter. */
export interface Schedule {
  readonly startMs: number
  readonly moves: readonly (readonly [Wait, Cost])[]
}
