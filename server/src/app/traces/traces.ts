import type { DoorObserver } from '../../observe/door-observer.ts'

/** Traces makes spans of decisions, and sends them away. */
export interface Traces {
  readonly observer: DoorObserver
  /** close sends what is left, or gives up soon. It never rejects. */
  close(): Promise<void>
}
