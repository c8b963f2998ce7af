import type { MaybePromise } from './ports.ts'

/**
 * Continues with a value synchronously, and with a promise when it resolves: no needless turn of the event loop. (A
 * module that exports a function named `then` would itself be treated as a promise by import().)
 */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise
    ? value.then(next)
    : isThenable(value)
      ? Promise.resolve(value).then(next)
      : next(value)
}

/** User code may return custom promises. */
function isThenable<T>(value: T): value is T & PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
