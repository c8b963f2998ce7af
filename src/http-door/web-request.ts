import { runAfter } from './long-wait.ts'

/** Returns path and query of an absolute URL, as they are written there. */
export function pathOf(url: string): string {
  const authority = url.indexOf('//')
  if (authority < 0) return url
  const path = url.indexOf('/', authority + 2)
  return path < 0 ? '/' : url.slice(path)
}

/** A server of Bun, as its handlers get it. */
interface AddressBook {
  requestIP(request: Request): { readonly address: string } | null
}

/**
 * Returns the address of a connection from what a runtime passes to handlers in addition to the request: on Deno
 * `{remoteAddr}`, on Bun the server; undefined for anything else.
 */
export function runtimeAddress(request: Request, extra: unknown): string | undefined {
  if (typeof extra !== 'object' || extra === null) return undefined
  const { remoteAddr, requestIP } = extra as { remoteAddr?: { hostname?: unknown }; requestIP?: unknown }
  if (typeof remoteAddr?.hostname === 'string') return remoteAddr.hostname
  return typeof requestIP === 'function' ? (extra as AddressBook).requestIP(request)?.address : undefined
}

/** Resolves after a delay: to true, or immediately to false when the client leaves. */
export function delayed(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const left = (): void => {
      stop()
      resolve(false)
    }
    const stop = runAfter(ms, () => {
      signal.removeEventListener('abort', left)
      resolve(true)
    })
    signal.addEventListener('abort', left, { once: true })
  })
}
