import { warnOnce } from '../../http-door/warn-once.ts'

/** Warns about an app that trusts every X-Forwarded-For. */
export function checkTrust(app: object): void {
  if (trustOf(app) !== true) return
  warnOnce(
    "Fastify's trustProxy is true: every client can choose its own address, and so has no limit. Give the number of " +
      'proxies or their addresses, there or in identity.trustedProxies.',
  )
}

/** Finds the setting, which Fastify keeps under a private symbol, on the app or on a parent app. */
function trustOf(app: object): unknown {
  for (let each: object | null = app; each !== null; each = Object.getPrototypeOf(each)) {
    const symbol = Object.getOwnPropertySymbols(each).find(({ description }) => description === 'fastify.options')
    if (symbol !== undefined) return (each as Record<symbol, { trustProxy?: unknown }>)[symbol]?.trustProxy
  }
  return undefined
}
