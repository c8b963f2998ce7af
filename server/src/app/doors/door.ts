import type { Socket } from 'node:net'
import type { Place } from './listen.ts'

/** The doors whose connections can be handed to workers. */
export const DOOR_NAMES = ['http', 'grpc', 'gateway'] as const
export type DoorName = (typeof DOOR_NAMES)[number]

/** A Door is a way in for requests, through a port of its own or by connections that it is given. */
export interface Door {
  /** Opens its port, and returns where it can be reached. */
  listen(place: Place): Promise<string>
  take(socket: Socket): void
  /** Has so many connections end without a failed call, if they are of the kind that lasts. */
  shed(count: number): void
  /** Ends it without a failed call. */
  drain(deadlineMs: number): Promise<void>
}
