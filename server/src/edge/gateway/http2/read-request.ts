import { type Fault, fault, invalid } from '../gateway-error.ts'
import { isAuthority, isTarget, type RequestHead, readLength } from '../request-head.ts'
import { addSocketKey, hasSocketKey } from '../web-socket.ts'
import { pseudo, readFields } from './field-map.ts'

const METHOD = /^[A-Z][A-Z-]{0,31}$/

/** Reads the head of a stream. What node:http2 lets through and cannot be right is a fault. */
export function readHttp2Request(raw: readonly string[], hasEnded: boolean): RequestHead | Fault {
  const fields = readFields(raw)
  if (typeof fields === 'string') return invalid(fields)
  const { hosts, host, lengths, expect } = fields
  const named = pseudo(raw, ':authority')
  const authority = named ?? host
  if (hosts > 1 || (hosts === 1 && named !== undefined && host.toLowerCase() !== named.toLowerCase())) {
    return invalid('Host says something else than :authority')
  }
  if (!isAuthority(authority)) return invalid(':authority is no name or address')
  const wanted = pseudo(raw, ':method') ?? ''
  const protocol = pseudo(raw, ':protocol')
  if (wanted === 'CONNECT' && protocol !== 'websocket') {
    return fault('GATEWAY_METHOD_NOT_ALLOWED', 'CONNECT is for forward proxies, or for WebSockets')
  }
  if (!METHOD.test(wanted)) return invalid(':method is not in capitals')
  const target = pseudo(raw, ':path') ?? ''
  if (!isTarget(target) && !(target === '*' && wanted === 'OPTIONS')) return invalid(':path is not a path and a query')
  const declared = lengths === 0 ? -1 : lengths === 1 ? readLength(fields.length) : -2
  if (lengths > 0 && declared < 0) return invalid('Content-Length is not one number')
  const wantsWebSocket = protocol !== undefined
  if (wantsWebSocket) {
    if (wanted !== 'CONNECT') return invalid(':protocol is for CONNECT')
    if (lengths > 0) return invalid('a WebSocket has no Content-Length')
    addSocketKey(fields)
    if (!hasSocketKey(fields)) return invalid('Sec-WebSocket-Key is not one key')
  }
  return {
    method: wantsWebSocket ? 'GET' : wanted,
    target,
    authority,
    fields,
    version: '2.0',
    bodyLength: hasEnded || wantsWebSocket ? 0 : declared,
    wantsWebSocket,
    expectsContinue: expect?.toLowerCase() === '100-continue' && !hasEnded,
  }
}
