import type { MaybePromise } from './ports.ts'

/**
 * andThen goes on with a value at once, and with a promise when it is there: no turn of the event loop without need. (A
 * module that exports a function named `then` would itself be taken for a promise by import().)
 */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise
    ? value.then(next)
    : isThenable(value)
      ? Promise.resolve(value).then(next)
      : next(value)
}

/** User code may return promises of its own making. */
function isThenable<T>(value: T): value is T & PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
