import type { Context } from 'koa'
import { ipKey } from '../../core/identity/ip-key.ts'
import { LOOSE, targetPath } from '../../http-door/request-path.ts'
import { headerText, type RequestReader } from '../../http-door/request-reader.ts'

/**
 * Returns the address of the client as the app sees it. An app with `proxy: true` and no `maxIpsCount` takes the
 * leftmost address of X-Forwarded-For, which anyone can forge: this returns the rightmost, which the proxy wrote.
 */
export function clientAddress(ctx: Context): string | undefined {
  const { proxy, maxIpsCount } = ctx.app
  return proxy && !(maxIpsCount > 0) ? (ctx.ips.at(-1) ?? ctx.req.socket.remoteAddress) : ctx.ip
}

/** Returns the key of a request, for callers without another id. */
export function addressKey(ctx: Context): string {
  const address = clientAddress(ctx)
  return (address === undefined ? undefined : ipKey(address)) ?? 'unknown'
}

export const koaReader: RequestReader<Context> = {
  address: clientAddress,
  peer: ({ req }) => req.socket.remoteAddress,
  header: ({ req }, name) => headerText(req.headers[name]),
  method: ({ req }) => req.method ?? 'GET',
  url: ({ originalUrl }) => originalUrl,
  route: (ctx) => ({ path: pathNow(ctx), ...LOOSE }),
}

/** Returns the path that routers go by, with what koa-mount cut off before it. */
function pathNow(ctx: Context): string {
  const { mountPath } = ctx as { readonly mountPath?: unknown }
  try {
    // Koa has null for the path of a target that has none: `http://`.
    const path = (ctx.path as string | null) ?? '/'
    if (typeof mountPath !== 'string') return path
    const original = targetPath(ctx.originalUrl)
    return original.endsWith(mountPath + path) ? original : mountPath + path
  } catch {
    return targetPath(ctx.originalUrl)
  }
}
