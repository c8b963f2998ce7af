import { describe, expect, it } from 'vitest'
import { SluiceError } from '../core/errors.ts'
import { loadRules, type RuleInput } from '../core/rules/load.ts'
import { RulesError } from '../core/rules/problems.ts'
import { LiveRules } from './live-rules.ts'
import type { RuleReceiver, RuleSource } from './rule-source.ts'

/** A file with one limit for each user of a domain. */
function rules(domain: string, requests: number, file = `${domain}.yaml`): RuleInput {
  const text = `domain: ${domain}\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: ${requests} }\n`
  return { file, text }
}

const typo = (domain: string): RuleInput => ({ file: `${domain}.yaml`, text: `domain: ${domain}\nlimits: []\n` })

/** A HandSource says what it is told to say. */
class HandSource implements RuleSource {
  readonly name = 'by hand'
  isStopped = false
  #says: readonly RuleInput[] | RulesError
  #receiver: RuleReceiver | undefined

  constructor(...says: RuleInput[]) {
    this.#says = says
  }

  start(receiver: RuleReceiver): Promise<boolean> {
    this.#receiver = receiver
    return this.readNow()
  }

  async readNow(): Promise<boolean> {
    if (!(this.#says instanceof RulesError)) return (await this.#receiver?.apply(this.#says)) ?? false
    this.#receiver?.refuse(this.#says)
    return false
  }

  say(...says: RuleInput[]): Promise<boolean> {
    this.#says = says
    return this.readNow()
  }

  fail(reason: string): Promise<boolean> {
    this.#says = new RulesError([new SluiceError('RULE_FILE_UNREADABLE', this.name, reason)])
    return this.readNow()
  }

  stop(): void {
    this.isStopped = true
  }
}

/** Starts sources, and returns what comes of them. */
async function followed(...sources: HandSource[]) {
  const refused: string[] = []
  const live = new LiveRules(
    {},
    { refused: ({ message }) => refused.push(...message.split('\n').map((line) => line.split('. ')[0])) },
  )
  const isGood = await live.follow(sources)
  const limits = (): Record<string, number | undefined> =>
    Object.fromEntries(
      [...live.current().domains.values()].map(({ name, root }) => [
        name,
        root.branches.get('user')?.any?.rules[0].limit.max,
      ]),
    )
  return { live, refused, isGood, limits }
}

describe('several sources', () => {
  it('make one set, in their order', async () => {
    const { isGood, limits, live } = await followed(new HandSource(rules('b', 1)), new HandSource(rules('a', 2)))
    expect(isGood).toBe(true)
    expect(limits()).toEqual({ b: 1, a: 2 })
    expect([...live.current().domains.keys()]).toEqual(['b', 'a'])
    expect(live.counts).toEqual({ loads: 1, refusals: 0 })
  })

  it('may not define the same domain, as two files may not', async () => {
    const { isGood, refused, limits } = await followed(
      new HandSource(rules('api', 1, 'rules/api.yaml')),
      new HandSource({ file: 'rules table, row 17', value: { domain: 'api', descriptors: [] } }),
    )
    expect(isGood).toBe(false)
    expect(refused).toEqual([
      'RULE_DUPLICATE_DOMAIN: rules table, row 17.domain: "api" is already defined at rules/api.yaml:1:9',
    ])
    expect(limits()).toEqual({})
  })

  it('deliver texts or objects, and errors name the place in either', async () => {
    const value = { domain: 'b', descriptors: [{ key: 'user', rate_limit: { unit: 'minut', requests_per_unit: 1 } }] }
    const { refused } = await followed(new HandSource(typo('a')), new HandSource({ file: 'row 3', value }))
    expect(refused.map((line) => line.split(': ', 2).join(' '))).toEqual([
      'RULE_UNKNOWN_KEY a.yaml:2:1',
      'RULE_INVALID row 3.descriptors[0].rate_limit.unit',
    ])
  })

  it('change one by one, and keep what the others say', async () => {
    const [files, table] = [new HandSource(rules('a', 1)), new HandSource(rules('b', 1))]
    const { limits, live } = await followed(files, table)
    expect(await table.say(rules('b', 2), rules('c', 3))).toBe(true)
    expect(limits()).toEqual({ a: 1, b: 2, c: 3 })
    expect(await files.say(rules('a', 4))).toBe(true)
    expect(limits()).toEqual({ a: 4, b: 2, c: 3 })
    expect(live.counts).toEqual({ loads: 3, refusals: 0 })
  })

  it('hold none of the others up when one is wrong', async () => {
    const [files, table] = [new HandSource(rules('a', 1)), new HandSource(rules('b', 1))]
    const { limits, refused, live } = await followed(files, table)
    expect(await table.say(typo('b'))).toBe(false)
    expect(await files.say(rules('a', 2))).toBe(true)
    expect(limits()).toEqual({ a: 2, b: 1 })
    expect(await table.say(rules('b', 3))).toBe(true)
    expect(limits()).toEqual({ a: 2, b: 3 })
    expect(refused).toEqual(['RULE_UNKNOWN_KEY: b.yaml:2:1: "limits"'])
    expect(live.counts).toEqual({ loads: 3, refusals: 1 })
  })

  it('report what is wrong with each once, also in turns', async () => {
    const [files, table] = [new HandSource(rules('a', 1)), new HandSource(rules('b', 1))]
    const { refused, live } = await followed(files, table)
    for (let i = 0; i < 3; i++) {
      await files.say(typo('a'))
      await table.fail('it is away')
    }
    expect(refused).toEqual(['RULE_UNKNOWN_KEY: a.yaml:2:1: "limits"', 'RULE_FILE_UNREADABLE: by hand: it is away'])
    expect(live.counts).toEqual({ loads: 1, refusals: 6 })
  })

  it('keep what one delivered last while it cannot be read, and report when it is there again', async () => {
    const [files, table] = [new HandSource(rules('a', 1)), new HandSource(rules('b', 1))]
    const { limits, live } = await followed(files, table)
    await table.fail('it is away')
    await files.say(rules('a', 2))
    expect(limits()).toEqual({ a: 2, b: 1 })
    expect(live.counts).toEqual({ loads: 2, refusals: 1 })
    expect(await table.say(rules('b', 1))).toBe(true)
    expect(live.counts).toEqual({ loads: 3, refusals: 1 })
  })

  it('can hand a domain over, whichever changes first', async () => {
    const [files, table] = [new HandSource(rules('a', 1), rules('b', 1)), new HandSource(rules('c', 1))]
    const { limits } = await followed(files, table)
    expect(await table.say(rules('c', 1), rules('b', 2, 'row 1'))).toBe(false)
    expect(limits()).toEqual({ a: 1, b: 1, c: 1 })
    expect(await files.say(rules('a', 1))).toBe(true)
    expect(limits()).toEqual({ a: 1, c: 1, b: 2 })
  })

  it('put nothing into force before all have been read, and everything then', async () => {
    const [files, table] = [new HandSource(rules('a', 1)), new HandSource()]
    await table.fail('it is away')
    const { isGood, limits } = await followed(files, table)
    expect(isGood).toBe(false)
    expect(await files.say(rules('a', 2))).toBe(false)
    expect(limits()).toEqual({})
    expect(await table.say(rules('b', 1))).toBe(true)
    expect(limits()).toEqual({ a: 2, b: 1 })
  })

  it('recover together from what was wrong at the start', async () => {
    const [files, table] = [new HandSource(typo('a')), new HandSource(typo('b'))]
    const { isGood, limits } = await followed(files, table)
    expect([isGood, await files.say(rules('a', 1))]).toEqual([false, false])
    expect(await table.say(rules('b', 1))).toBe(true)
    expect(limits()).toEqual({ a: 1, b: 1 })
  })

  it('are all read immediately on request, and load nothing where nothing changed', async () => {
    const [files, table] = [new HandSource(rules('a', 1)), new HandSource(rules('b', 1))]
    const { live } = await followed(files, table)
    expect(await live.readNow()).toBe(true)
    expect(live.counts).toEqual({ loads: 1, refusals: 0 })
    await table.fail('it is away')
    expect(await live.readNow()).toBe(false)
  })

  it('put nothing into force, and report nothing, after the end', async () => {
    const source = new HandSource(rules('a', 1))
    const { live, limits, refused } = await followed(source)
    live.stop()
    expect(source.isStopped).toBe(true)
    expect([await source.say(rules('a', 2)), await source.say(typo('a'))]).toEqual([false, false])
    await source.fail('it is away')
    expect(limits()).toEqual({ a: 1 })
    expect(refused).toEqual([])
  })
})

describe('a loader', () => {
  it('loads what comes after the first rules, in the order of delivery', async () => {
    const loads: ((isGood: boolean) => void)[] = []
    const source = new HandSource(rules('a', 1))
    const live = new LiveRules({
      loader: {
        load: (inputs) =>
          new Promise((resolve, reject) => {
            loads.push((isGood) => (isGood ? resolve({ rules: loadRules(inputs) }) : reject(new RulesError([]))))
          }),
        close: () => {},
      },
    })
    expect(await live.follow([source])).toBe(true)
    expect(loads).toHaveLength(0)
    const first = live.current()
    const second = source.say(rules('a', 2))
    const third = source.say(rules('a', 3))
    const until = async (count: number): Promise<void> => {
      while (loads.length < count) await Promise.resolve()
    }
    await until(1)
    expect(live.current()).toBe(first)
    loads[0](false)
    expect(await second).toBe(false)
    await until(2)
    loads[1](true)
    expect(await third).toBe(true)
    expect(live.current().domains.get('a')?.root.branches.get('user')?.any?.rules[0].limit.max).toBe(3)
  })
})
