import { StoreFault } from '../../../engine/store-fault.ts'

/** Resolves as a promise does, and rejects when that takes too long. */
export function within<T>(timeoutMs: number, promise: Promise<T>, shard: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const fault = new StoreFault('timeout', shard, 'no answer within the deadline')
    // What came in while the process was busy is read before the deadline is looked at.
    const timer = setTimeout(() => setImmediate(reject, fault), timeoutMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
