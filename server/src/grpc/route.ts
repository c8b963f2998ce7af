import type { StreamCall, UnaryCall } from './call.ts'
import type { RequestHead } from './request-head.ts'

/** Route is a method that the server has. Its handler takes the kind of call that it was registered for. */
export interface Route {
  readonly path: string
  /** Stands for the heads of its calls once their fields are gone. */
  readonly bareHead: RequestHead
  readonly handler: (call: UnaryCall & StreamCall) => unknown
}
