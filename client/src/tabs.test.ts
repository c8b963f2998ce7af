import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Learnt, type Share, shareTabs } from './tabs.ts'

const budget = { name: 'default', unit: 'requests', limit: 10, remaining: 0, resetMs: 5_000 }
const news = { lane: 'https://api.example 1', budgets: [budget], pauseMs: 0 } as unknown as Learnt

const closing: { close(): void }[] = []
afterEach(() => {
  for (const channel of closing.splice(0)) channel.close()
})

/** Shares by a name until the test is over. */
function opened(name: string, received: (learnt: Learnt) => void): Share {
  const share = shareTabs(name)
  share.hear(received)
  closing.push(share)
  return share
}

describe('shareTabs', () => {
  it('notifies the others, not itself', async () => {
    const name = `tabs ${Math.random()}`
    const heard: string[] = []
    const first = opened(name, () => heard.push('first'))
    opened(name, ({ lane }) => heard.push(lane))
    first.publish(news)
    await vi.waitUntil(() => heard.length > 0, 60_000)
    expect(heard).toEqual([news.lane])
  })

  it('leaves out messages of another form', async () => {
    const name = `tabs ${Math.random()}`
    const heard: Learnt[] = []
    opened(name, (received) => heard.push(received))
    const channel = new BroadcastChannel(name)
    closing.push(channel)
    const wrong = [
      null,
      'text',
      {},
      { ...news, pauseMs: Number.NaN },
      { ...news, pauseMs: Number.POSITIVE_INFINITY },
      { ...news, pauseMs: -1 },
      { ...news, budgets: [null] },
      { ...news, budgets: [{ ...budget, remaining: Number.NaN }] },
      { ...news, budgets: [{ ...budget, resetMs: '5' }] },
      { ...news, budgets: [{ ...budget, name: 1 }] },
      { ...news, budgets: 'none' },
    ]
    for (const each of wrong) channel.postMessage(each)
    channel.postMessage({ ...news, lane: 'last' })
    await vi.waitUntil(() => heard.length > 0, 60_000)
    expect(heard.map(({ lane }) => lane)).toEqual(['last'])
  })

  it('is silent where there are no channels, and once it is closed', () => {
    const received = vi.fn()
    const closed = opened(`tabs ${Math.random()}`, received)
    closed.close()
    closed.publish(news)
    closed.close()
    vi.stubGlobal('BroadcastChannel', undefined)
    opened('any', received).publish(news)
    vi.unstubAllGlobals()
    expect(received).not.toHaveBeenCalled()
  })
})
