import { loadRules } from 'sluice/internal/core/rules/load'
import { LiveRules } from 'sluice/internal/engine/live-rules'
import { FileSource } from 'sluice/internal/sources/file-source'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory, ruleText } from '../../../../src/sources/rule-directory.suite.ts'
import { until } from '../../../../tests/servers/until.mjs'
import { ControlPlane } from '../../../../tests/xds/control-plane.suite.ts'
import { domainOf } from '../../../../tests/xds/protos.suite.ts'
import { keptIn } from '../kept-rules.suite.ts'
import { ManualSchedule } from '../manual-schedule.suite.ts'
import { XdsSource, type XdsSourceOptions } from './xds-source.ts'

const NODE = 'envoy-ratelimit'
/** A policy without a unit. */
const WRONG = { name: 'wrong', domain: 'w', descriptors: [{ key: 'k', rate_limit: { requests_per_unit: 1 } }] }

interface Followed {
  readonly live: LiveRules
  readonly source: XdsSource
  readonly clock: ManualSchedule
  readonly received: string[]
  readonly refused: string[]
  domains(): string[]
  /** Starts it, as a service does. */
  follow(): Promise<boolean>
}

/** Makes a source whose pauses pass when the test says so. */
function followed({ port }: { readonly port: number }, options: Partial<XdsSourceOptions> = {}): Followed {
  const [received, refused]: [string[], string[]] = [[], []]
  const clock = new ManualSchedule()
  const live = new LiveRules({}, { refused: ({ message }) => refused.push(message) })
  const source = new XdsSource({
    name: 'xds here',
    host: '127.0.0.1',
    port,
    node: { id: NODE, metadata: { zone: 'z' } },
    headers: {},
    timeoutMs: 10_000,
    maxMessageBytes: 1_000_000,
    backoffMs: 1_000,
    maxBackoffMs: 30_000,
    schedule: clock.schedule,
    random: () => 1,
    check: (inputs) => void loadRules(inputs),
    explain: async (inputs) => {
      try {
        loadRules(inputs)
        return 'right'
      } catch (error) {
        return (error as Error).message
      }
    },
    events: {
      away: (_, reason) => received.push(`away: ${reason}`),
      back: () => received.push('back'),
      waiting: (_, reason) => received.push(`waiting: ${reason.split(':')[0]}`),
      kept: (_, __, reason) => received.push(`kept: ${reason.split(':')[0]}`),
      empty: (_, reason) => received.push(`empty: ${reason.split(':')[0]}`),
    },
    ...options,
  })
  onTestFinished(() => live.stop())
  const follow = async (): Promise<boolean> => {
    const isGood = await live.follow([source])
    if (isGood) source.started()
    return isGood
  }
  const domains = (): string[] => [...live.current().domains.keys()].sort()
  return { live, source, clock, received, refused, domains, follow }
}

/** Starts a control plane that has rules in a version. */
async function planeWith(version: string, ...configs: readonly object[]): Promise<ControlPlane> {
  const plane = await ControlPlane.start()
  plane.set(NODE, version, configs)
  return plane
}

describe('XdsSource', () => {
  it('puts into force what a control plane sends, and accepts it', async () => {
    const plane = await planeWith('1', domainOf('ns/gateway/listener'), domainOf('b'))
    const { follow, domains } = followed(plane)
    expect(await follow()).toBe(true)
    expect(domains()).toEqual(['b', 'ns/gateway/listener'])
    await until('it is accepted', () => plane.acks.length === 1)
    expect(plane.requests).toEqual([
      {
        node: { id: NODE, metadata: { fields: { zone: { stringValue: 'z' } } } },
        type_url: expect.stringContaining('RateLimitConfig'),
      },
      expect.objectContaining({ version_info: '1', response_nonce: '1', node: expect.objectContaining({ id: NODE }) }),
    ])
    plane.set(NODE, '2', [domainOf('c')])
    await until('others are in force', () => domains().join() === 'c')
    await until('they are accepted', () => plane.acks.at(-1)?.version_info === '2')
    expect(plane.nacks).toEqual([])
  })

  it('takes no resources at all for no rules', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, domains } = followed(plane)
    await follow()
    plane.set(NODE, '2', [])
    await until('nothing is in force', () => domains().length === 0)
    await until('that is accepted', () => plane.acks.at(-1)?.version_info === '2')
  })

  it('refuses rules that are wrong, once immediately and then later and later, and accepts valid ones', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, domains, clock, refused, source } = followed(plane)
    await follow()
    await until('they are accepted', () => plane.acks.length === 1)
    plane.set(NODE, '2', [domainOf('b'), WRONG])
    await until('they are refused', () => plane.nacks.length === 1)
    expect(plane.nacks[0]).toMatchObject({ version_info: '1', response_nonce: '2' })
    expect(plane.nacks[0].error_detail?.message).toMatch(
      /^RULE_INVALID: xds here, resource "wrong"\.descriptors\[0\]\.rate_limit\.unit: /,
    )
    // The control plane sends them again at once, as go-control-plane does.
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      await until(`the next refusal waits for ${pauseMs} ms`, () => clock.pausesMs.includes(pauseMs))
      const { length } = plane.nacks
      clock.pass()
      await until('it is notified', () => plane.nacks.length === length + 1)
    }
    expect(domains()).toEqual(['a'])
    expect(refused).toHaveLength(1)
    expect(source.figures().failures).toBe(7)
    await until('the next refusal waits', () => clock.pausesMs.length > 0)
    plane.set(NODE, '3', [domainOf('b')])
    clock.pass()
    await until('others are in force', () => domains().join() === 'b')
  })

  it('does not wait with the refusal of another version', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, clock } = followed(plane)
    await follow()
    plane.set(NODE, '2', [WRONG])
    await until('the second refusal waits', () => clock.pausesMs.includes(1_000))
    plane.set(NODE, '3', [WRONG])
    clock.pass()
    await until('both versions are refused', () => plane.nacks.length === 3)
    expect(plane.nacks.map(({ response_nonce }) => response_nonce)).toEqual(['2', '3', '4'])
  })

  it('refuses what does not go together with files, and says so', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { live, source, refused } = followed(plane)
    const directory = new RuleDirectory({ 'b.yaml': ruleText(5, 'b') })
    expect(await live.follow([new FileSource([directory.path]), source])).toBe(true)
    source.started()
    plane.set(NODE, '2', [domainOf('b')])
    await until('they are refused', () => plane.nacks.length > 0)
    expect(plane.nacks[0].error_detail?.message).toBe('right')
    expect(refused[0]).toMatch(/^RULE_DUPLICATE_DOMAIN: /)
  })

  it('refuses resources that are none', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, refused, domains } = followed(plane)
    await follow()
    plane.setResources(NODE, '2', [{ type_url: 'type.googleapis.com/a.B', value: Buffer.alloc(3) }])
    await until('they are refused', () => plane.nacks.length > 0)
    expect(refused[0]).toMatch(/^XDS_RESOURCE_INVALID: xds here, resource 1 of 1: /)
    expect(domains()).toEqual(['a'])
  })

  it('asks a control plane that was restarted for all there is, though it counts from 1 again', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, domains, clock, received } = followed(plane)
    await follow()
    plane.set(NODE, '2', [domainOf('b')])
    await until('others are in force', () => domains().join() === 'b')
    await until('they are accepted', () => plane.acks.length === 2)
    plane.stop()
    await until('it is reported', () => received.length > 0)
    const other = await ControlPlane.start({ port: plane.port })
    other.set(NODE, '2', [domainOf('c')])
    expect(domains()).toEqual(['b'])
    clock.pass()
    await until('others are in force', () => domains().join() === 'c')
    expect(other.requests[0].version_info ?? '').toBe('')
    expect(other.requests[0].response_nonce ?? '').toBe('')
    expect(received.at(-1)).toBe('back')
  })

  it('loads nothing again that it has, when it has reconnected', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, live, clock, source } = followed(plane)
    await follow()
    await until('it is accepted', () => plane.acks.length === 1)
    plane.end(13, 'internal')
    await until('it waits', () => clock.pausesMs.length > 0)
    clock.pass()
    await until('it is accepted again', () => plane.acks.length === 2)
    expect(live.counts.loads).toBe(1)
    expect(source.figures().failures).toBe(1)
  })

  it('waits longer after each attempt that fails, up to a bound, and half of it is chance', async () => {
    for (const [random, factor] of [
      [1, 1],
      [0, 0.5],
    ]) {
      const { follow, clock, live, received } = followed(
        { port: 1 },
        { random: () => random, maxBackoffMs: 5_000, timeoutMs: 60_000 },
      )
      const following = follow()
      for (const pauseMs of [1_000, 2_000, 4_000, 5_000, 5_000]) {
        await until(`it waits for ${pauseMs} ms`, () => clock.pausesMs.at(-1) === pauseMs * factor)
        const others = clock.pausesMs.length
        clock.pass()
        await until('it has tried', () => clock.pausesMs.length === others - 1 || clock.pausesMs.length === 1)
      }
      expect(new Set(received)).toEqual(new Set(['away: ECONNREFUSED', 'waiting: ECONNREFUSED']))
      live.stop()
      expect(await following).toBe(false)
    }
  })

  it('reconnects immediately where a server of some age asks for it, and counts no failure', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, source, received } = followed(plane)
    await follow()
    await until('it is accepted', () => plane.acks.length === 1)
    plane.leave()
    await until('it has called again', () => plane.calls.length === 2)
    await until('it is accepted again', () => plane.acks.length === 2)
    expect(source.figures().failures).toBe(0)
    expect(received).toEqual([])
  })

  it.each([1, 2, 5, 7, 12, 13, 14, 16])('reconnects when a call ends with status %i', async (code) => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, clock, received } = followed(plane)
    await follow()
    plane.end(code, 'why not')
    await until('it waits', () => clock.pausesMs.length > 0)
    expect(received).toEqual([`away: status ${code}: why not`])
  })

  it('connects immediately when a caller asks for it', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, clock, live } = followed(plane)
    await follow()
    plane.end(14, '')
    await until('it waits', () => clock.pausesMs.length > 0)
    expect(await live.readNow()).toBe(true)
    await until('it has called again', () => plane.calls.length === 2)
    expect(clock.pausesMs).toEqual([])
  })

  it('sends the configured headers', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow } = followed(plane, { headers: { 'x-tenant': 't', authorization: 'Bearer x' } })
    await follow()
    expect(plane.calls[0].getMap()).toMatchObject({
      'x-tenant': 't',
      authorization: 'Bearer x',
      'user-agent': 'sluice',
    })
  })

  it('is current while it is connected, and ages when it is not', async () => {
    const plane = await planeWith('1', domainOf('a'))
    const { follow, source, clock } = followed(plane)
    await follow()
    await until('it is current', () => source.figures().lastGoodAtMs > 0)
    expect(source.figures().ageMs).toBe(0)
    plane.end(14, '')
    await until('it waits', () => clock.pausesMs.length > 0)
    const { lastGoodAtMs } = source.figures()
    await until('time passes', () => source.figures().ageMs > 0)
    expect(source.figures().lastGoodAtMs).toBe(lastGoodAtMs)
  })

  describe('at the start', () => {
    it('waits for a control plane that is silent, and reports that', async () => {
      const plane = await ControlPlane.start()
      const { follow, clock, received, domains, source } = followed(plane)
      const following = follow()
      await until('it has asked', () => plane.requests.length === 1)
      expect(clock.pausesMs).toEqual([10_000])
      clock.pass()
      expect(received).toEqual(['waiting: nothing was sent yet'])
      // Nothing is in force, and nothing was sent: that is current.
      expect(source.figures().ageMs).toBe(0)
      plane.set(NODE, '1', [domainOf('a')])
      expect(await following).toBe(true)
      expect(domains()).toEqual(['a'])
    })

    it('waits for better rules where the first are wrong', async () => {
      const plane = await planeWith('1', WRONG)
      const { follow, received, domains, clock } = followed(plane)
      const following = follow()
      await until('they are refused', () => plane.nacks.length === 1)
      expect(received).toContain('waiting: RULE_INVALID')
      plane.set(NODE, '2', [domainOf('a')])
      await until('the next refusal waits', () => clock.pausesMs.includes(1_000))
      clock.pass()
      expect(await following).toBe(true)
      expect(domains()).toEqual(['a'])
    })

    it('ends when it is stopped', async () => {
      const plane = await ControlPlane.start()
      const { follow, live } = followed(plane)
      const following = follow()
      await until('it has asked', () => plane.requests.length === 1)
      live.stop()
      expect(await following).toBe(false)
    })

    it('continues without rules after two seconds of silence, where it may', async () => {
      const plane = await ControlPlane.start()
      const { follow, clock, received, domains } = followed(plane, { startsEmpty: true })
      const following = follow()
      await until('it has asked', () => plane.requests.length === 1)
      expect(clock.pausesMs).toEqual([2_000])
      clock.pass()
      expect(await following).toBe(true)
      expect(received).toEqual(['empty: RULES_AWAY'])
      plane.set(NODE, '1', [domainOf('a')])
      await until('they are in force', () => domains().join() === 'a')
    })

    it.each([
      ['away', undefined],
      ['wrong', [WRONG]],
    ])('goes by the last good rules of an earlier run where today’s are %s', async (_, today) => {
      const { kept } = keptIn()
      const plane = await planeWith('1', domainOf('a'))
      const first = followed(plane, { kept })
      await first.follow()
      await until('they are kept', () => kept.read('xds here'))
      first.live.stop()
      plane.stop()
      const later = today === undefined ? { port: 1 } : await planeWith('2', ...today)
      const { follow, clock, received, domains } = followed(later, { kept })
      const following = follow()
      if (today === undefined) {
        await until('it waits to connect', () => clock.pausesMs.length === 2)
        clock.pass()
      }
      expect(await following).toBe(true)
      expect(domains()).toEqual(['a'])
      expect(received.at(-1)).toBe(today === undefined ? 'kept: RULES_AWAY' : 'kept: RULE_INVALID')
    })
  })
})
