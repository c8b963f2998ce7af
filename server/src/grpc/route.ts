import type { StreamCall, UnaryCall } from './call.ts'

/** Route is a method that the server has. Its handler takes the kind of call that it was registered for. */
export interface Route {
  readonly path: string
  readonly handler: (call: UnaryCall & StreamCall) => unknown
}
