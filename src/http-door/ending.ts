/** An Ending is told how a request ends. */
export interface Ending {
  /** The client left before the answer was handed over. The handler may still be at work. */
  left(): void
  /** Nobody works on the request any more. The status of the answer; undefined if nobody got it. */
  ended(status: number | undefined): void
}
