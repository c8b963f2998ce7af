import { hasOption } from '../fields.ts'
import { outgoingFields } from '../outgoing-fields.ts'
import type { RequestHead } from '../request-head.ts'
import type { ClientFacts, OutgoingRequest } from '../sides.ts'
import type { Member } from '../upstreams/member.ts'
import type { ExchangeHost } from './exchange-host.ts'

interface OutgoingParts {
  readonly member: Member
  readonly id: string
  /** Path and query, as the route says. */
  readonly target: string
  readonly host: ExchangeHost
  /** A field that is not forwarded, by its name in lower case. */
  readonly hidden?: string | undefined
}

/** Returns a request as it goes to an address, with what the gateway says about where it came from. */
export function outgoingRequest(
  { method, authority, fields, bodyLength, wantsWebSocket, version }: RequestHead,
  { peer, scheme }: ClientFacts,
  { member, id, target, host, hidden }: OutgoingParts,
): OutgoingRequest {
  const via = version === '2.0' ? host.via2 : host.via1
  const origin = { method, peer, scheme, authority, isTrusted: host.trusts(peer), passed: host.passed, id, via, hidden }
  return {
    method,
    target,
    authority: authority === '' ? member.authority : authority,
    scheme: member.scheme,
    fields: outgoingFields(fields, origin),
    bodyLength,
    wantsWebSocket,
    takesTrailers: hasOption(fields.te, 'trailers'),
  }
}
