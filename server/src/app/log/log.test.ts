import { afterEach, describe, expect, it, vi } from 'vitest'
import { readConfig } from '../settings/config.ts'
import { secretsOf } from '../settings/secrets.ts'
import { createLog, hider, type LogOptions } from './log.ts'
import type { LogEntry } from './log-entry.ts'

afterEach(() => {
  vi.useRealTimers()
})

function logging(options: Partial<LogOptions> = {}) {
  vi.useFakeTimers({ now: new Date('2026-11-15T10:00:00.000Z') })
  let written = ''
  const out = {
    write: (text: string) => {
      written += text
    },
  }
  const log = createLog({ level: 'info', format: 'json', isTerminal: false, secrets: [], ...options, out })
  return {
    log,
    text: () => written,
    records: () =>
      written
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
  }
}

describe('createLog, as JSON', () => {
  it('writes one line an event: level, time, event, what belongs to it, message', () => {
    const { log, text } = logging()
    log.warn('rules.refused', 'two\nlines', { where: ['a.yaml:1:1'], count: 2 })
    expect(text()).toBe(
      '{"level":"warn","time":"2026-11-15T10:00:00.000Z","event":"rules.refused","where":["a.yaml:1:1"],"count":2,"msg":"two\\nlines"}\n',
    )
  })

  it('leaves out what is below its level', () => {
    const { log, records } = logging({ level: 'warn' })
    log.debug('a', 'debug')
    log.info('a', 'info')
    log.warn('a', 'warn')
    log.error('a', 'error')
    expect(records().map(({ level }) => level)).toEqual(['warn', 'error'])
  })

  it('says which worker it was', () => {
    const { log, records } = logging()
    log.write({ level: 'info', event: 'a', message: 'b', worker: 2 })
    expect(records()).toEqual([{ level: 'info', time: expect.any(String), event: 'a', worker: 2, msg: 'b' }])
  })
})

describe('createLog, as text', () => {
  it('writes time, level, message and what belongs to it', () => {
    const { log, text } = logging({ format: 'text' })
    log.info('a', 'connected', { shard: 'redis', count: 2, reason: 'went away', list: ['x'] })
    expect(text()).toBe('2026-11-15T10:00:00.000Z info  connected shard=redis count=2 reason="went away"\n')
  })

  it('indents the lines after the first, so that no message can forge a record', () => {
    const { log, text } = logging({ format: 'text' })
    log.error('a', 'first\n2026-11-15T10:00:00.000Z info  forged')
    expect(text()).toBe('2026-11-15T10:00:00.000Z error first\n  2026-11-15T10:00:00.000Z info  forged\n')
  })

  it('shows control characters instead of obeying them', () => {
    const { log, text } = logging({ format: 'text' })
    log.info('a', 'x\u001b[2Jy\rz\u0000', { name: 'a\u001bb' })
    expect(text()).toBe('2026-11-15T10:00:00.000Z info  x\\x1b[2Jy\\x0dz\\x00 name="a\\u001bb"\n')
  })

  it('writes the time of day on a terminal, and colours unless NO_COLOR says otherwise', () => {
    vi.stubEnv('TZ', 'UTC')
    vi.stubEnv('NO_COLOR', '1')
    const { log, text } = logging({ format: 'text', isTerminal: true })
    log.warn('a', 'careful', { shard: 'redis' })
    expect(text()).toMatch(/^\d\d:00:00 warn {2}careful shard=redis\n$/)
    vi.stubEnv('NO_COLOR', '')
    log.error('b', 'broken')
    expect(text()).toContain('\u001b[31merror broken\u001b[0m')
    vi.unstubAllEnvs()
  })
})

describe('createLog, secrets', () => {
  const env = {
    REDIS_URL: 'redis://me:pa%2Fss-word@localhost:6379',
    SLUICE_SECRET: 'very "secret"',
    REDIS_SENTINEL_AUTH: 'watch:man-pass',
  }
  const config = readConfig([], env)

  it.each(['json', 'text'] as const)('never appear in a log as %s, wherever they are said', (format) => {
    const { log, text } = logging({ format, secrets: secretsOf(config) })
    const said = [...Object.values(env), 'pa/ss-word', 'pa%2Fss-word', 'man-pass', config.redisUrl]
    said.forEach((secret, i) => {
      log.error(`event ${i}`, `it says ${secret}, it does`, { reason: `because of ${secret}`, list: [`${secret}`] })
    })
    void log.end()
    expect(text().split('\n').length).toBe(said.length + 1)
    expect(text()).not.toMatch(/pa\/ss|pa%2Fss|ss-word|man-pass|secret/)
  })

  it('leaves words alone that only begin like a short secret', () => {
    expect(hider(['abc'])('abcdef')).toBe('abcdef')
  })

  it('takes credentials out of every address', () => {
    expect(hider([])('connect to rediss+cluster://u:p@a:1,b:2 or unix://:p@/run/a')).toBe(
      'connect to rediss+cluster://…@a:1,b:2 or unix://…@/run/a',
    )
  })
})

describe('createLog, storms', () => {
  it('logs the same thing once a second, and then how often it happened', () => {
    const { log, records } = logging()
    for (let i = 0; i < 1_000; i++) log.error('door.failed', 'no')
    expect(records()).toHaveLength(1)
    vi.advanceTimersByTime(1_000)
    expect(records().map(({ msg, more }) => [msg, more])).toEqual([
      ['no', undefined],
      ['no (and 999 more)', 999],
    ])
    log.error('door.failed', 'no')
    expect(records()).toHaveLength(3)
    vi.advanceTimersByTime(1_000)
    expect(records()).toHaveLength(3)
  })

  it('logs different things immediately', () => {
    const { log, records } = logging()
    log.info('store.connected', 'connected to a')
    log.info('store.connected', 'connected to b')
    expect(records()).toHaveLength(2)
  })

  it('logs ten different messages of an event a second, and counts the others', () => {
    const { log, records } = logging()
    for (let i = 0; i < 500; i++) log.error('door.failed', `fault ${i}`)
    vi.advanceTimersByTime(1_000)
    expect(records().map(({ msg }) => msg)).toEqual([
      ...Array.from({ length: 11 }, (_, i) => `fault ${i}`),
      'fault 10 (and 489 more)',
    ])
  })

  it('logs once what every worker logs', () => {
    const { log, records } = logging()
    const entry = (worker: number): LogEntry => ({ level: 'error', event: 'store.lost', message: 'gone', worker })
    for (const worker of [1, 2, 3, 4]) log.write(entry(worker))
    vi.advanceTimersByTime(1_000)
    expect(records()).toHaveLength(1)
    for (const worker of [1, 2, 2]) log.write(entry(worker))
    vi.advanceTimersByTime(1_000)
    expect(records().map(({ msg }) => msg)).toEqual(['gone', 'gone', 'gone (and 1 more)'])
  })

  it('logs what is still being counted when it ends', () => {
    const { log, records } = logging()
    log.info('a', 'b')
    log.info('a', 'b')
    void log.end()
    expect(records()).toHaveLength(2)
  })
})
