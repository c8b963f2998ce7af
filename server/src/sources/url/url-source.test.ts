import { loadRules } from 'sluice/internal/core/rules/load'
import { LiveRules } from 'sluice/internal/engine/live-rules'
import { FileSource } from 'sluice/internal/sources/file-source'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory, ruleText } from '../../../../src/sources/rule-directory.suite.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { keptIn } from '../kept-rules.suite.ts'
import { ManualSchedule } from '../manual-schedule.suite.ts'
import { type RulesServer, startRulesServer, status, text } from './rules-server.suite.ts'
import { UrlSource, type UrlSourceOptions } from './url-source.ts'

/** A Followed is a source, what it told, and the rules that are in force. */
interface Followed {
  readonly live: LiveRules
  readonly source: UrlSource
  readonly clock: ManualSchedule
  readonly received: string[]
  readonly refused: string[]
  /** Has the source ask, and resolves when it has. */
  look(): Promise<void>
  domains(): string[]
}

function follow(server: Pick<RulesServer, 'url'>, options: Partial<UrlSourceOptions> = {}): Followed {
  const received: string[] = []
  const refused: string[] = []
  const clock = new ManualSchedule()
  const live = new LiveRules({}, { refused: ({ message }) => refused.push(message) })
  const source = new UrlSource({
    name: 'the address',
    url: server.url,
    pollMs: 30_000,
    timeoutMs: 60_000,
    schedule: clock.schedule,
    random: () => 0.5,
    check: (inputs) => void loadRules(inputs),
    events: {
      away: (_, reason) => received.push(`away: ${reason}`),
      back: () => received.push('back'),
      kept: (_, atMs, reason) => received.push(`kept ${atMs}: ${reason.split(':')[0]}`),
      empty: (_, reason) => received.push(`empty: ${reason.split(':')[0]}`),
    },
    ...options,
  })
  onTestFinished(() => live.stop())
  const look = async (): Promise<void> => {
    clock.pass()
    await until('it has asked', () => clock.pausesMs.length === 1)
  }
  const domains = (): string[] => [...live.current().domains.keys()].sort()
  return { live, source, clock, received, refused, look, domains }
}

describe('UrlSource', () => {
  it('delivers the rules at an address, and their replacements', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { live, source, domains, look } = follow(server)
    expect(await live.follow([source])).toBe(true)
    expect(domains()).toEqual(['a'])
    server.answer(text(ruleText(5, 'b')))
    await look()
    expect(domains()).toEqual(['b'])
    await look()
    expect(server.requests.at(-1)?.headers['if-none-match']).toBeDefined()
    expect(live.counts).toEqual({ loads: 2, refusals: 0 })
  })

  it('reads immediately when it is asked to', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { live, source, domains } = follow(server)
    await live.follow([source])
    server.answer(text(ruleText(5, 'b')))
    expect(await live.readNow()).toBe(true)
    expect(domains()).toEqual(['b'])
  })

  it('makes one set with files, and with other addresses', async () => {
    const server = await startRulesServer(text(ruleText(5, 'b')))
    const { live, source, domains } = follow(server)
    const directory = new RuleDirectory({ 'a.yaml': ruleText(5, 'a') })
    const other = follow(await startRulesServer(text(ruleText(5, 'c'))), { name: 'another' })
    expect(await live.follow([new FileSource([directory.path]), source, other.source])).toBe(true)
    expect(domains()).toEqual(['a', 'b', 'c'])
  })

  it('leaves the last good rules in force while the address is unavailable, and reports that once', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { live, source, domains, look, received } = follow(server)
    await live.follow([source])
    server.answer(status(503))
    await look()
    await look()
    expect(domains()).toEqual(['a'])
    expect(source.figures()).toMatchObject({ failures: 2 })
    server.answer(text(ruleText(5, 'a')))
    await look()
    expect(received).toEqual(['away: answered 503', 'back'])
    expect(live.counts).toEqual({ loads: 1, refusals: 0 })
  })

  it('leaves the last good rules in force while the address says what is wrong', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { live, source, domains, look, refused } = follow(server)
    await live.follow([source])
    server.answer(text('<html>Log in</html>'))
    await look()
    await look()
    expect(domains()).toEqual(['a'])
    expect(refused).toHaveLength(1)
    expect(refused[0]).toMatch(/^RULE_INVALID: the address:1:1: got /)
    expect(source.figures().failures).toBe(2)
    server.answer(text(ruleText(5, 'a')))
    await look()
    expect(await live.readNow()).toBe(true)
    expect(source.figures().failures).toBe(2)
  })

  it('puts what was refused into force once nothing stands in its way, unchanged as it is', async () => {
    const server = await startRulesServer(text(ruleText(5, 'b')))
    const { live, source, look } = follow(server)
    const directory = new RuleDirectory({ 'a.yaml': ruleText(5, 'a') })
    await live.follow([new FileSource([directory.path]), source])
    server.answer(text(ruleText(9, 'a')))
    await look()
    expect(source.figures().failures).toBe(1)
    directory.write('a.yaml', ruleText(5, 'c'))
    await live.readNow()
    const { failures } = source.figures()
    await look()
    expect([...live.current().domains.keys()].sort()).toEqual(['a', 'c'])
    expect(source.figures().failures).toBe(failures)
  })

  it('knows how old its rules are: since it was last known that they are the same', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { live, source, look } = follow(server)
    const before = Date.now()
    expect(source.figures()).toMatchObject({ name: 'the address', lastGoodAtMs: 0, failures: 0 })
    await live.follow([source])
    source.started()
    const { lastGoodAtMs, ageMs } = source.figures()
    expect(lastGoodAtMs).toBeGreaterThanOrEqual(before)
    expect(ageMs).toBeLessThanOrEqual(Date.now() - before)
    server.answer(status(500))
    await look()
    expect(source.figures().lastGoodAtMs).toBe(lastGoodAtMs)
  })

  it('spreads its pauses, and leaves a busy server alone for as long as that asks', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    for (const [random, pauseMs] of [
      [0, 27_000],
      [1, 33_000],
    ]) {
      const { live, source, clock } = follow(server, { random: () => random })
      await live.follow([source])
      expect(clock.pausesMs).toEqual([pauseMs])
    }
    const { live, source, clock, look } = follow(server)
    await live.follow([source])
    server.answer(status(503, { 'retry-after': '120' }))
    await look()
    expect(clock.pausesMs).toEqual([120_000])
    server.answer(status(503, { 'retry-after': '1' }))
    await look()
    expect(clock.pausesMs).toEqual([30_000])
  })

  it('asks nothing any more once it is stopped', async () => {
    const server = await startRulesServer(text(ruleText(5, 'a')))
    const { live, source, clock, domains } = follow(server)
    await live.follow([source])
    server.answer((_, response) => {
      source.stop()
      text(ruleText(5, 'b'))({ headers: {} } as never, response)
    })
    expect(await source.readNow()).toBe(false)
    expect(clock.pausesMs).toEqual([])
    expect(domains()).toEqual(['a'])
  })

  describe('at the start', () => {
    it('refuses an address that is unavailable, and one that says what is wrong', async () => {
      const away = follow({ url: new URL('http://127.0.0.1:1/rules.yaml') })
      expect(await away.live.follow([away.source])).toBe(false)
      expect(away.refused).toEqual([
        'RULES_AWAY: the address: ECONNREFUSED. The rules must be available in full before the service starts. Use --start-without-rules to start without them.',
      ])
      const wrong = follow(await startRulesServer(text('domain: [')))
      expect(await wrong.live.follow([wrong.source])).toBe(false)
      expect(wrong.refused[0]).toMatch(/^RULE_SYNTAX: the address:/)
    })

    it.each([
      ['away', status(503), 'RULES_AWAY'],
      ['wrong', text('domain: ['), 'RULE_SYNTAX'],
    ])('continues without rules where it may and they are %s', async (_, listener, code) => {
      const server = await startRulesServer(listener)
      const { live, source, domains, look, received } = follow(server, { startsEmpty: true })
      expect(await live.follow([source])).toBe(true)
      expect(domains()).toEqual([])
      expect(received).toContain(`empty: ${code}`)
      server.answer(text(ruleText(5, 'a')))
      await look()
      expect(domains()).toEqual(['a'])
    })

    it.each([
      ['away', status(503), 'RULES_AWAY'],
      ['wrong', text('domain: ['), 'RULE_SYNTAX'],
    ])('goes by the last good rules of an earlier run where today’s are %s', async (_, listener, code) => {
      const { kept } = keptIn()
      const server = await startRulesServer(text(ruleText(5, 'a')))
      const first = follow(server, { kept })
      await first.live.follow([first.source])
      first.source.started()
      await until('they are kept', () => kept.read('the address'))
      first.live.stop()
      server.answer(listener)
      const { live, source, domains, look, received, refused } = follow(server, { kept })
      expect(await live.follow([source])).toBe(true)
      expect(domains()).toEqual(['a'])
      expect(received.filter((line) => line.startsWith('kept'))).toEqual([
        `kept ${kept.read('the address')?.atMs}: ${code}`,
      ])
      await look()
      expect(refused).toHaveLength(code === 'RULES_AWAY' ? 0 : 1)
      server.answer(text(ruleText(5, 'b')))
      await look()
      expect(domains()).toEqual(['b'])
    })
  })
})
