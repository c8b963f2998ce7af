import { describe, expect, it } from 'vitest'
import { RedirectedAsker } from './redirected-asker.ts'

const SLOT = 3_999
const ARGS = ['EVALSHA', 'decide']

/** A command that was sent to a node, and what its asker, and the router, were told since. */
function askedAt(address: string) {
  const received: string[] = []
  const router = {
    doubt: (clueless: string) => received.push(`doubt ${clueless}`),
    moved: (slot: number, owner: string) => received.push(`moved ${slot} ${owner}`),
    send: (to: string, args: unknown, _: unknown, isAsk: boolean) =>
      received.push(`${args === ARGS ? 'sent' : 'changed'} ${to}${isAsk ? ' asking' : ''}`),
  }
  const asker = {
    answered: (reply: unknown) => received.push(`answered ${reply}`),
    failed: ({ message }: Error) => received.push(`failed ${message}`),
  }
  return { asker: new RedirectedAsker(router as never, SLOT, address, ARGS, asker as never), received }
}

const fails = (asker: RedirectedAsker, ...messages: string[]): void => {
  for (const message of messages) asker.failed(new Error(message))
}

describe('a command that nodes of a cluster send on', () => {
  it('follows one after the other, and its answer arrives', () => {
    const { asker, received } = askedAt('a:1')
    fails(asker, `MOVED ${SLOT} b:2`, `MOVED ${SLOT} c:3`)
    asker.answered('OK' as never)
    expect(received).toEqual([`moved ${SLOT} b:2`, 'sent b:2', `moved ${SLOT} c:3`, 'sent c:3', 'answered OK'])
  })

  it('goes to the host of the node that was asked last where no host is named', () => {
    const { asker, received } = askedAt('a:1')
    fails(asker, `MOVED ${SLOT} b:2`, `MOVED ${SLOT} :3`)
    expect(received.at(-1)).toBe('sent b:3')
  })

  it('doubts the node that was asked last where that says that no one serves the slot', () => {
    const { asker, received } = askedAt('a:1')
    fails(asker, `MOVED ${SLOT} b:2`, 'CLUSTERDOWN Hash slot not served')
    expect(received.slice(2)).toEqual(['doubt b:2', 'failed CLUSTERDOWN Hash slot not served'])
  })

  it('leaves the slot where it is when it is sent on for this once (ASK)', () => {
    const { asker, received } = askedAt('a:1')
    fails(asker, `ASK ${SLOT} b:2`)
    expect(received).toEqual(['sent b:2 asking'])
  })

  it('is sent on four times, and not a fifth', () => {
    const { asker, received } = askedAt('a:1')
    const on = `ASK ${SLOT} b:2`
    fails(asker, on, on, on, on, on)
    expect(received).toEqual([...new Array(4).fill('sent b:2 asking'), `failed ${on}`])
  })
})
