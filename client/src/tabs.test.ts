import { afterEach, describe, expect, it, vi } from 'vitest'
import { type TabNews, Tabs } from './tabs.ts'

const budget = { name: 'default', unit: 'requests', limit: 10, remaining: 0, resetMs: 5_000 }
const news = { lane: 'https://api.example 1', budgets: [budget], pauseMs: 0 } as unknown as TabNews

const opened: { close(): void }[] = []
const open = <T extends { close(): void }>(channel: T): T => {
  opened.push(channel)
  return channel
}
afterEach(() => {
  for (const channel of opened.splice(0)) channel.close()
})

describe('Tabs', () => {
  it('tells the others, not itself', async () => {
    const name = `tabs ${Math.random()}`
    const heard: string[] = []
    const first = open(new Tabs(name, () => heard.push('first')))
    open(new Tabs(name, ({ lane }) => heard.push(lane)))
    first.tell(news)
    await vi.waitUntil(() => heard.length > 0)
    expect(heard).toEqual([news.lane])
  })

  it('leaves out what is not told as it tells things', async () => {
    const name = `tabs ${Math.random()}`
    const heard: TabNews[] = []
    open(new Tabs(name, (told) => heard.push(told)))
    const channel = open(new BroadcastChannel(name))
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
    await vi.waitUntil(() => heard.length > 0)
    expect(heard.map(({ lane }) => lane)).toEqual(['last'])
  })

  it('is silent without a name, without channels, and once it is closed', () => {
    const hear = vi.fn()
    new Tabs(undefined, hear).tell(news)
    const tabs = new Tabs(`tabs ${Math.random()}`, hear)
    tabs.close()
    tabs.tell(news)
    tabs.close()
    vi.stubGlobal('BroadcastChannel', undefined)
    new Tabs('any', hear).tell(news)
    vi.unstubAllGlobals()
    expect(hear).not.toHaveBeenCalled()
  })
})
