import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/algorithms/oracle.suite.ts'
import { compileLimit, type LimitOptions } from '../../../src/core/limit.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import { limitOf, textOf } from './limit-texts.ts'
import { decodeHello, encodeHello } from './peer-cluster.ts'
import { decodeAnswers, decodeJobs, encodeAnswers, encodeJobs, type PeerJob, runJob } from './peer-jobs.ts'

const LIMITS: readonly LimitOptions[] = [
  { limit: 10, window: '1m' },
  { limit: 10, window: '90s', subWindows: 7 },
  { limit: 0, window: '1m' },
  { limit: 10, window: '1m', countDenied: true },
  { limit: 10, window: '1m', algorithm: 'fixed_window', anchor: 'first_hit' },
  { limit: 10, algorithm: 'fixed_window', calendar: { unit: 'month', timeZone: 'Europe/Berlin' } },
  { limit: 10, window: '1m', algorithm: 'sliding_log' },
  { limit: 10, window: '1m', algorithm: 'token_bucket', burst: 50 },
  { limit: 10, window: '1m', algorithm: 'gcra' },
  { limit: 10, window: '1m', algorithm: 'leaky_bucket', burst: 3 },
  { limit: 10, algorithm: 'concurrency', leaseTtl: '7s' },
]

it.each(LIMITS)('a limit is the same at another node: %o', (options) => {
  const limit = compileLimit(options)
  const { calendar, ...there } = limitOf(textOf(limit))
  const { calendar: own, ...here } = limit
  expect(there).toEqual(here)
  expect([calendar?.unit, calendar?.timeZone]).toEqual([own?.unit, own?.timeZone])
})

const [minute, places] = [compileLimit(LIMITS[0]), compileLimit(LIMITS[10])]
const JOBS: readonly PeerJob[] = [
  {
    ...{ kind: 'decide', partition: 17, id: 0, isForwarded: false },
    charges: [
      { key: 'sluice:{17}:a|käse', limit: minute, cost: 3, enforce: true, quota: false, debit: false },
      { key: 'b', limit: places, cost: -2, enforce: false, quota: true, debit: true },
    ],
  },
  {
    ...{ kind: 'acquire', partition: 255, id: 2 ** 47 + 1, isForwarded: true },
    charges: [{ key: 'c', limit: places, cost: 1, enforce: true, quota: false, debit: false }],
  },
  { kind: 'renew', partition: 0, id: 9, isForwarded: false, charges: [] },
]

describe('messages between nodes', () => {
  it('come back as they were sent', () => {
    const jobs = decodeJobs(encodeJobs(JOBS))
    const plain = (all: readonly PeerJob[]) =>
      all.map((job) => ({
        ...job,
        charges: job.charges.map(({ limit, ...rest }) => ({ ...rest, shape: limit.shape })),
      }))
    expect(plain(jobs)).toEqual(plain(JOBS))
    const store = new MemoryStore()
    const hit = (cost: number, debit = false): PeerJob => ({
      ...JOBS[0],
      charges: [{ key: 'k', limit: minute, cost, enforce: true, debit }],
    })
    const asked = [hit(4), hit(20, true), hit(1), hit(11), JOBS[1]]
    const answers = asked.map((job) => runJob(store, job))
    expect(answers.map(({ verdicts }) => verdicts[0].kind)).toEqual([
      'allowed',
      'allowed',
      'refused',
      'impossible',
      'allowed',
    ])
    expect(decodeAnswers(encodeAnswers([...answers, undefined]), [...asked, hit(1)])).toEqual([...answers, undefined])
  })

  it('are refused when anything in them is changed, added or missing, and throw nothing but a RangeError', () => {
    const random = seededRandom(1)
    const held = '01'.repeat(128)
    const hello = encodeHello({ name: 'node:1', incarnation: 'abc', held, isLeaving: false, gone: ['node:2'] })
    const readers = [
      [encodeJobs(JOBS), decodeJobs],
      [hello, decodeHello],
    ] as const
    for (const [bytes, read] of readers) {
      for (let length = 0; length < bytes.length; length++) expect(() => read(bytes.subarray(0, length))).toThrow()
      expect(() => read(Buffer.concat([bytes, Buffer.of(0)]))).toThrow('too many')
      for (let i = 0; i < 2_000; i++) {
        const changed = Buffer.from(bytes)
        changed[Math.floor(random() * changed.length)] = Math.floor(random() * 256)
        try {
          read(changed)
        } catch (error) {
          expect(['RangeError', 'SyntaxError', 'SluiceError']).toContain((error as Error).name)
        }
      }
    }
    expect(() => decodeAnswers(encodeAnswers([undefined]), JOBS)).toThrow('other jobs')
  })
})
