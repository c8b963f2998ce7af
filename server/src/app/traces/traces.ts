import type { DoorObserver } from '../../observe/door-observer.ts'

/** Makes spans of decisions, and exports them. */
export interface Traces {
  readonly observer: DoorObserver
  /** Sends the remaining spans, or gives up soon. Never rejects. */
  close(): Promise<void>
}
