/** Why a store did not answer. */
export type FaultReason =
  /** It took longer than the deadline. Whether it counted is not known, and nothing is sent twice. */
  | 'timeout'
  /** There is no connection. Nothing was counted. */
  | 'offline'
  /** The circuit breaker is open. Nothing was sent. */
  | 'breaker_open'
  /** More calls are in flight than the store accepts. Nothing was sent. */
  | 'overloaded'
  /** It refused to work: loading, read-only, out of memory, a cluster without this slot. Nothing was counted. */
  | 'unavailable'
  /** The connection broke, or the answer made no sense. Whether it counted is not known. */
  | 'broken'

/** A store that did not answer. It never reaches a door: the failure policy turns it into a verdict. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault'
  readonly reason: FaultReason
  readonly shard: string

  constructor(reason: FaultReason, shard: string, detail: string, cause?: unknown) {
    super(`${shard}: ${reason}: ${detail}`, cause === undefined ? undefined : { cause })
    this.reason = reason
    this.shard = shard
  }
}
