import type { DoorObserver } from '../../observe/door-observer.ts'

/** Makes spans of decisions, and sends them away. */
export interface Traces {
  readonly observer: DoorObserver
  /** Sends what is left, or gives up soon. It never rejects. */
  close(): Promise<void>
}
