import { describe, expect, it } from 'vitest'
import type { RequestHead } from '../request-head.ts'
import type { Found, Table } from '../routes/table.ts'
import type { CarrierListener, Pool } from '../sides.ts'
import { readEndpoint } from '../upstreams/endpoint.ts'
import { Member } from '../upstreams/member.ts'
import { UpstreamGroup } from '../upstreams/upstream-group.ts'
import { Attempts } from './attempts.ts'

/** Has a request that may be tried so often, and that was sent once. */
function attemptsOf(head: Partial<RequestHead>, retries = 2) {
  const member = new Member(readEndpoint('http://127.0.0.1:1', 'address', undefined), {} as Pool, 0, () => 0)
  const group = new UpstreamGroup({ addresses: [] }, [member], () => () => {})
  const table = { upstream: () => group } as unknown as Table
  const found = { route: {}, settings: { retries } } as unknown as Found
  const request = { method: 'GET', bodyLength: 0, wantsWebSocket: false, ...head } as RequestHead
  const attempts = new Attempts(table, found, request, {} as CarrierListener)
  attempts.next(0)
  attempts.begin()
  return { attempts, group, member }
}

const again = (head: Partial<RequestHead>, ...[failure, wasReused, hasBody]: Parameters<Attempts['maySendAgain']>) =>
  attemptsOf(head).attempts.maySendAgain(failure, wasReused, hasBody)

describe('a request whose connection failed before the answer', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'TRACE'])('is sent again where it is a %s without a body', (method) => {
    expect(again({ method }, 'closed', false, false)).toBe(true)
    for (const bodyLength of [1, -1]) expect(again({ method, bodyLength }, 'closed', true, true)).toBe(false)
  })

  it('is not sent again where it may have changed something, or asked for a WebSocket', () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(again({ method }, 'closed', true, false)).toBe(false)
    expect(again({ wantsWebSocket: true }, 'closed', true, false)).toBe(false)
  })

  it('is sent again, whatever it is, where nothing of it was sent and its body is still there', () => {
    expect(again({ method: 'POST' }, 'unsent', false, false)).toBe(true)
    expect(again({ method: 'POST', bodyLength: 5 }, 'unsent', false, true)).toBe(false)
  })

  it('is not sent again where the answer was wrong', () => {
    expect(again({}, 'invalid', true, false)).toBe(false)
  })

  it('has one try for nothing, on a connection that was used before', () => {
    const { attempts, group } = attemptsOf({}, 0)
    expect(attempts.maySendAgain('closed', false, false)).toBe(false)
    expect(attempts.maySendAgain('closed', true, false)).toBe(true)
    expect(attempts.maySendAgain('closed', true, false)).toBe(false)
    expect(group.budget.spent).toBe(0)
  })

  it('is tried as often as its route says, and counted at its address while it is there', () => {
    const { attempts, group, member } = attemptsOf({}, 2)
    expect(member.inFlight).toBe(1)
    attempts.leave()
    attempts.leave()
    expect(member.inFlight).toBe(0)
    expect(attempts.mayConnectAgain()).toBe(true)
    attempts.begin()
    expect([attempts.mayConnectAgain(), attempts.count]).toEqual([true, 2])
    attempts.begin()
    expect([attempts.mayConnectAgain(), group.budget.spent]).toEqual([false, 2])
  })
})
