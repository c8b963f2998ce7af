import type { ServerResponse } from 'node:http'
import type { Context } from 'hono'
import type { GetConnInfo } from 'hono/conninfo'
import { ipKey } from '../../core/identity/ip-key.ts'
import type { RequestReader } from '../../http-door/request-reader.ts'
import { pathOf, runtimeAddress } from '../../http-door/web-request.ts'

interface NodeBindings {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } }
  readonly outgoing?: unknown
}

/** Returns what the runtime hands to an app; some put it into `server`. */
function bindingsOf({ env }: Context): NodeBindings | undefined {
  return env?.server ?? env
}

/** Returns the answer as Node.js sees it, where the app runs on @hono/node-server. */
export function outgoingOf(c: Context): ServerResponse | undefined {
  const outgoing = bindingsOf(c)?.outgoing
  // Asked for what it can do: an import of Node.js would fail where there is no such module.
  return isServerResponse(outgoing) ? outgoing : undefined
}

function isServerResponse(outgoing: unknown): outgoing is ServerResponse {
  const { writeHead, writableEnded } = (outgoing ?? {}) as Partial<ServerResponse>
  return typeof writeHead === 'function' && typeof writableEnded === 'boolean'
}

/**
 * Returns the address of a connection: from Hono's helper for the runtime, or as Node.js, Bun and Deno provide it.
 * Never reads a field that the client could have written.
 */
export function addressOf(c: Context, getConnInfo: GetConnInfo | undefined): string | undefined {
  if (getConnInfo !== undefined) return getConnInfo(c).remote.address
  const bindings = bindingsOf(c)
  return bindings?.incoming?.socket?.remoteAddress ?? runtimeAddress(c.req.raw, bindings)
}

/** Returns the key of a connection, for callers without another key. */
export function addressKey(c: Context, getConnInfo: GetConnInfo | undefined): string {
  const address = addressOf(c, getConnInfo)
  return (address === undefined ? undefined : ipKey(address)) ?? 'unknown'
}

export function readerOf(getConnInfo: GetConnInfo | undefined): RequestReader<Context> {
  return {
    address: (c) => addressOf(c, getConnInfo),
    peer: (c) => addressOf(c, getConnInfo),
    header: (c, name) => c.req.header(name),
    method: (c) => c.req.method,
    url: (c) => pathOf(c.req.url),
    // What Hono itself goes by: decoded, and without the slash at the end where the app does not look at it.
    route: (c) => ({ path: c.req.path, caseSensitive: true, strict: true }),
  }
}
