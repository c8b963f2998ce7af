import type { ServerResponse } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import type { Decision } from '../../core/combine.ts'
import type { FieldList } from '../../core/http/field-list.ts'
import { mergeFields } from '../../http-door/field-merge.ts'
import { LOOSE, targetPath } from '../../http-door/request-path.ts'
import { headerText, type RequestReader } from '../../http-door/request-reader.ts'
import { type ExpressRouted, expressRoute } from '../express/express-route.ts'
import { type FastifyRouted, fastifyRoute } from '../fastify/fastify-route.ts'

/** What requests of Express and of Fastify have in common. */
export interface NestRequest {
  readonly ip?: string | undefined
  readonly method: string
  readonly originalUrl?: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** A response of Express, or a reply of Fastify, which has the response inside. */
export type NestResponse = ServerResponse | FastifyLike

interface FastifyLike {
  readonly raw: ServerResponse
  header(name: string, value: string): unknown
  getHeader(name: string): unknown
  getHeaders(): Readonly<Record<string, string | string[] | number | undefined>>
  hijack(): unknown
}

/** A request and its response. */
export interface Exchange {
  readonly req: NestRequest
  readonly res: NestResponse
}

export const nestReader: RequestReader<NestRequest> = {
  address: ({ ip, socket }) => ip ?? socket.remoteAddress,
  peer: ({ socket }) => socket.remoteAddress,
  header: ({ headers }, name) => headerText(headers[name]),
  method: ({ method }) => method,
  url: ({ originalUrl, url }) => originalUrl ?? url,
  route: (request) => {
    if ('routeOptions' in request) return fastifyRoute(request as NestRequest & FastifyRouted)
    if ('app' in request) return expressRoute(request as NestRequest & ExpressRouted)
    return { path: targetPath(request.url), ...LOOSE }
  },
}

/** Finds the request and the response of a call by HTTP or by GraphQL. Other calls have none. */
export function exchangeOf(context: ExecutionContext): Exchange | undefined {
  const type: string = context.getType()
  if (type === 'http') {
    const http = context.switchToHttp()
    return { req: http.getRequest(), res: http.getResponse() }
  }
  if (type !== 'graphql') return undefined
  const { req, res, reply, request } = context.getArgByIndex(2) ?? {}
  const found = { req: req ?? request ?? reply?.request, res: res ?? reply ?? req?.res }
  return found.req && found.res ? found : undefined
}

/** Returns the response of Node.js itself. */
export function rawOf(response: NestResponse): ServerResponse {
  return 'raw' in response ? response.raw : response
}

/** Hands the response of Node.js over, with the fields that were set: the framework has no more to say in it. */
export function takeOver(response: NestResponse): ServerResponse {
  if (!('raw' in response)) return response
  for (const [name, value] of Object.entries(response.getHeaders())) {
    if (value !== undefined) response.raw.setHeader(name, value)
  }
  response.hijack()
  return response.raw
}

/** Sets the fields of an answer that has not begun. */
export function setFields(response: NestResponse, fields: FieldList, decision: Decision): void {
  if (!rawOf(response).headersSent) mergeFields(response, fields, decision, getField, setField)
}

function getField(response: NestResponse, name: string): unknown {
  return response.getHeader(name)
}

/** Sets a field where the framework looks for it: Fastify keeps them apart from the response until the end. */
export function setField(response: NestResponse, name: string, value: string): unknown {
  return 'raw' in response ? response.header(name, value) : response.setHeader(name, value)
}
