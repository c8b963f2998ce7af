import { after } from './long-wait.ts'

/** pathOf returns path and query of an absolute URL, as they are written there. */
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
 * runtimeAddress returns the address of a connection, of what a runtime hands to handlers beside the request: on Deno
 * `{remoteAddr}`, on Bun the server; undefined for anything else.
 */
export function runtimeAddress(request: Request, beside: unknown): string | undefined {
  if (typeof beside !== 'object' || beside === null) return undefined
  const { remoteAddr, requestIP } = beside as { remoteAddr?: { hostname?: unknown }; requestIP?: unknown }
  if (typeof remoteAddr?.hostname === 'string') return remoteAddr.hostname
  return typeof requestIP === 'function' ? (beside as AddressBook).requestIP(request)?.address : undefined
}

/** delayed resolves after a while: to true, or at once to false when the client goes away. */
export function delayed(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const left = (): void => {
      stop()
      resolve(false)
    }
    const stop = after(ms, () => {
      signal.removeEventListener('abort', left)
      resolve(true)
    })
    signal.addEventListener('abort', left, { once: true })
  })
}
