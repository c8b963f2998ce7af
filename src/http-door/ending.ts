/** Receives how a request ends. */
export interface Ending {
  /** The client left before the answer was handed over. The handler may still be at work. */
  left(): void
  /** The handler no longer works on the request. The status of the answer; undefined if the client did not get it. */
  ended(status: number | undefined): void
}
