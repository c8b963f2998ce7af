import type { Server } from 'node:http'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { type Client, Routes, serveHttp } from '../adapter-app.suite.ts'
import { rateLimitOf } from './index.ts'

/** What the runtimes under test hand to a handler beside the request, in the manner of Deno. */
export interface Extra {
  readonly remoteAddr: { readonly hostname: string | undefined }
}

export type Handler = (request: Request, extra: Extra) => Response | Promise<Response>

/** Answers as the routes of Routes do. */
export function fetchHandler(routes = new Routes()): Handler {
  return async (request) => {
    switch (new URL(request.url).pathname) {
      case '/error':
        return new Response('Error!', { status: 400 })
      case '/throw':
        throw new Error('thrown')
      case '/settle':
        await rateLimitOf(request).settle(5)
        return new Response('settled')
      case '/hang':
        routes.hanging++
        return new Promise<Response>(() => {})
      case '/work':
        return new Response(await routes.work())
      case '/stream':
        return new Response(routes.stream())
      default:
        return new Response(request.method === 'HEAD' ? null : 'Hi there!')
    }
  }
}

/** Serves a handler over HTTP. */
export function serveFetch(handler: Handler): Promise<Client> {
  const fetch = async (request: Request, env: unknown): Promise<Response> => {
    const { incoming } = env as HttpBindings
    try {
      return await handler(request, { remoteAddr: { hostname: incoming.socket.remoteAddress } })
    } catch {
      return new Response('failed', { status: 500 })
    }
  }
  return serveHttp(createAdaptorServer({ fetch }) as Server)
}
