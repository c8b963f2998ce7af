import type { Socket } from 'node:net'
import type { ListenAddress } from './listen.ts'

/** The doors whose connections can be handed to workers. */
export const DOOR_NAMES = ['http', 'grpc', 'gateway'] as const
export type DoorName = (typeof DOOR_NAMES)[number]

/** A way in for requests, through a port or by connections that are passed to it. */
export interface Door {
  /** Opens its port, and returns where it can be reached. */
  listen(at: ListenAddress): Promise<string>
  take(socket: Socket): void
  /** Closes that many connections without a failed call, if they are long-lived. */
  shed(count: number): void
  /** Closes the door without a failed call. */
  drain(deadlineMs: number): Promise<void>
}
