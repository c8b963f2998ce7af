import { describe, expect, it } from 'vitest'
import { size } from '../../server/src/cli/size.ts'
import { printedBy, refusedBy } from './printed.suite.ts'

const RULE =
  'Give --rate and --keys as whole numbers such as 10000, 500k or 10M, --limits from 1 to 100, and --leased as a share such as 90%.'

const sized = async (...args: string[]) => JSON.parse(await printedBy(size, [...args, '--json']))

describe('sluice size', () => {
  it('says how many nodes, shards and how much memory it takes, in words', async () => {
    const printed = await printedBy(size, ['--rate', '500k', '--keys', '10M'])
    expect(printed).toMatch(/^500,000 decisions a second, 10,000,000 callers, 1 limit each\n/)
    expect(printed).toMatch(/\nservice {2}[0-9]+ nodes with [0-9]+ workers each: [0-9]+ cores and [0-9.]+ GiB a node\n/)
    expect(printed).toMatch(/\nRedis {4}[0-9]+ shards, each at most half busy: [0-9.]+ µs a decision, [0-9.]+ a call\n/)
    expect(printed).toMatch(/ for 2\.1 GB of counters of 213 bytes\n/)
  })

  it('reads numbers as people write them', async () => {
    const written = [
      ['--rate', '1500', '--keys', '2_000_000'],
      ['--rate', '1.5k', '--keys', '2m'],
    ]
    const [one, two] = await Promise.all(written.map((args) => sized(...args)))
    expect(one).toEqual(two)
    expect(one).toMatchObject({ perSecond: 1_500, keys: 2_000_000, limits: 1, leased: 0, keyForm: 'readable' })
    const more = await sized('--rate=1k', '--keys=1k', '--limits=3', '--leased=90%', '--compact-keys')
    expect(more).toMatchObject({ limits: 3, leased: 0.9, keyForm: 'compact' })
    expect(await sized('--rate=1k', '--keys=1k', '--leased=0.9')).toMatchObject({ leased: 0.9 })
  })

  it('says when it is more than a cluster carries', async () => {
    const printed = await printedBy(size, ['--rate', '100M', '--keys', '1'])
    expect(printed).toContain(
      'This is more than a cluster of 32 shards carries: lease the busiest limits, or divide the callers.',
    )
  })

  it.each([
    [[], '--rate: is not given'],
    [['--rate', '1'], '--keys: is not given'],
    [['--rate', '0', '--keys', '1'], '--rate: got "0"'],
    [['--rate', '-5', '--keys', '1'], '--rate: got "-5"'],
    [['--rate', '1e9', '--keys', '1'], '--rate: got "1e9"'],
    [['--rate', '0.5', '--keys', '1'], '--rate: got "0.5"'],
    [['--rate', '101M', '--keys', '1'], '--rate: got "101M"'],
    [['--rate', '1', '--keys', 'many'], '--keys: got "many"'],
    [['--rate', '1', '--keys', '1', '--limits', '101'], '--limits: got "101"'],
    [['--rate', '1', '--keys', '1', '--leased', '90'], '--leased: got "90"'],
    [['--rate', '1', '--keys', '1', '--leased', 'half'], '--leased: got "half"'],
  ])('refuses %j', async (args, what) => {
    expect(await refusedBy(size, args)).toBe(`SIZE_INVALID: ${what}. ${RULE}`)
  })

  it('knows no other flag', async () => {
    expect(await refusedBy(size, ['--rates', '1'])).toMatch(/^FLAG_UNKNOWN: size: got "--rates", did you mean "?--rate/)
    expect(await refusedBy(size, ['big'])).toMatch(/^FLAG_UNKNOWN: size: got "big"/)
  })
})
