import type { ProxyTrust } from 'sluice/internal/core/identity/proxy-trust'
import { type Priority, readPriority } from 'sluice/internal/core/shedding/priority'
import type { GatewayRequest } from '../gateway/gate.ts'
import { joinedField } from './request-reader.ts'

/** A PriorityHeader is a field by which trusted callers say how much a request matters. */
export interface PriorityHeader {
  /** In lower case. */
  readonly name: string
  /**
   * The networks of callers that are believed. Undefined: those of the trusted proxies, for requests that begin there.
   * `proxies`: what a trusted proxy passes on is believed, wherever it comes from.
   */
  readonly from: ProxyTrust | 'proxies' | undefined
}

/**
 * saidPriority is what a trusted caller says. Of anybody else the field is ignored, and kept from the upstream, which may
 * believe it. A trusted caller that says it twice, or in other words, says nothing.
 */
export function saidPriority(request: GatewayRequest, header: PriorityHeader | undefined): Priority | undefined {
  if (header === undefined) return undefined
  if (!isBelieved(request, header)) {
    request.hide(header.name)
    return undefined
  }
  return readPriority(joinedField(request.headers, header.name)?.trim().toLowerCase())
}

function isBelieved(request: GatewayRequest, { from }: PriorityHeader): boolean {
  if (from === undefined) return request.isInside
  return from === 'proxies' ? request.isFromProxy : from.knows(request.ip)
}
