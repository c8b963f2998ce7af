import { type FieldSet, hasOption } from '../fields.ts'
import { type Fault, fault, invalid } from '../gateway-error.ts'
import { isAuthority, isTarget, type RequestHead, readLength } from '../request-head.ts'
import { hasSocketKey } from '../web-socket.ts'
import { readFieldLines, TOO_MANY } from './field-lines.ts'

const LINE = /^([A-Z][A-Z-]{0,31}) (\S+) HTTP\/(\d)\.(\d)$/
const ABSOLUTE = /^https?:\/\/([^/?#@\\]+)((?:[/?].*)?)$/i

/** Reads a head without its empty line. What can be read in two ways is a fault. */
export function readRequest(text: string, maxHeaders: number): RequestHead | Fault {
  const lineEnd = text.indexOf('\r\n')
  const line = LINE.exec(lineEnd < 0 ? text : text.slice(0, lineEnd))
  if (line === null) return invalid('the request line is not METHOD target HTTP/1.1')
  const [, method, rawTarget, major, minor] = line as unknown as [string, string, string, string, string]
  if (major !== '1' || minor > '1')
    return fault('GATEWAY_VERSION_UNSUPPORTED', `the request says HTTP/${major}.${minor}`)
  const fields = readFieldLines(text, lineEnd < 0 ? text.length : lineEnd + 2, maxHeaders)
  if (fields === TOO_MANY) return fault('GATEWAY_HEADERS_TOO_LARGE', TOO_MANY)
  if (typeof fields === 'string') return invalid(fields)
  const version = minor === '1' ? '1.1' : '1.0'
  const wrongHost = hostFault(fields, version)
  if (wrongHost !== undefined) return wrongHost
  const place = readTarget(method, rawTarget, fields.host)
  if ('code' in place) return place
  const bodyLength = framing(fields, version)
  if (typeof bodyLength !== 'number') return bodyLength
  const { expect } = fields
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return fault('GATEWAY_EXPECTATION_UNKNOWN', 'Expect is not 100-continue')
  }
  return {
    method,
    ...place,
    fields,
    version,
    bodyLength,
    wantsWebSocket:
      fields.upgrade !== undefined &&
      version === '1.1' &&
      method === 'GET' &&
      bodyLength === 0 &&
      hasOption(fields.upgrade, 'websocket') &&
      hasOption(fields.connection, 'upgrade') &&
      hasSocketKey(fields),
    expectsContinue: expect !== undefined && version === '1.1' && bodyLength !== 0,
  }
}

function hostFault({ hosts, host }: FieldSet, version: string): Fault | undefined {
  if (hosts > 1) return invalid('there are several Host fields')
  if (hosts === 0) return version === '1.1' ? invalid('there is no Host') : undefined
  return isAuthority(host) ? undefined : invalid('Host is no name or address')
}

interface TargetAuthority {
  readonly target: string
  readonly authority: string
}

function readTarget(method: string, text: string, host: string): TargetAuthority | Fault {
  if (method === 'CONNECT') return fault('GATEWAY_METHOD_NOT_ALLOWED', 'CONNECT is for forward proxies')
  if (text.charCodeAt(0) === 0x2f) return isTarget(text) ? { target: text, authority: host } : WRONG_TARGET
  if (text === '*') return method === 'OPTIONS' ? { target: '*', authority: host } : WRONG_TARGET
  const absolute = ABSOLUTE.exec(text)
  if (absolute === null) return WRONG_TARGET
  const [, authority, rest] = absolute as unknown as [string, string, string]
  // The target of an absolute form is the host, whatever Host says (RFC 9112, 3.2.2).
  const target = rest.startsWith('/') ? rest : `/${rest}`
  return isAuthority(authority) && isTarget(target) ? { target, authority } : WRONG_TARGET
}

const WRONG_TARGET = invalid('the target is not a path and a query')

/** Returns how long the body is, if there is only one way to read that. */
function framing(fields: FieldSet, version: string): number | Fault {
  const { lengths, codings, coding } = fields
  const wrong = nominationFault(fields)
  if (wrong !== undefined) return wrong
  if (codings === 0) {
    if (lengths === 0) return 0
    const length = lengths === 1 ? readLength(fields.length) : -1
    return length < 0 ? invalid('Content-Length is not one number') : length
  }
  if (lengths > 0) return invalid('there are both Content-Length and Transfer-Encoding')
  if (version === '1.0') return invalid('HTTP/1.0 has no Transfer-Encoding')
  if (codings > 1) return invalid('there are several Transfer-Encoding fields')
  if (coding.toLowerCase() === 'chunked') return -1
  return coding.split(',').every((each) => /^\s*[A-Za-z][\w-]*(?:;.*)?\s*$/.test(each))
    ? fault('GATEWAY_CODING_UNSUPPORTED', 'Transfer-Encoding is not chunked')
    : invalid('Transfer-Encoding is not chunked')
}

/** What Connection must not take away: fields that say where a message goes and where it ends. */
const NEVER_NOMINATED = new Set(['content-length', 'transfer-encoding', 'host', 'trailer', 'content-encoding'])

function nominationFault(fields: FieldSet): Fault | undefined {
  const isWrong = fields.nominated()?.some((name) => NEVER_NOMINATED.has(name)) ?? false
  return isWrong ? invalid('Connection names a field that is not for it to remove') : undefined
}
