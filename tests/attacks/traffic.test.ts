import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { simulate } from '../../server/src/cli/simulate.ts'
import { openTraffic } from '../../server/src/simulate/traffic/open-traffic.ts'
import { textBlocks } from '../../server/src/simulate/traffic/text-blocks.ts'
import { printedBy } from '../cli/printed.suite.ts'

// What callers can write into a log is replayed by whoever has it: their names reach terminals, pages and files.

const START = Date.UTC(2026, 10, 20, 9) / 1_000

function folder() {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-traffic-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return (name: string, content: string | Buffer): string => {
    writeFileSync(join(dir, name), content)
    return join(dir, name)
  }
}

/** Replays lines, and returns all that is written anywhere. */
async function everything(rules: string, lines: readonly object[], ...flags: readonly string[]) {
  const file = folder()
  const [html, decisions] = [file('r.html', ''), file('d.jsonl', '')]
  const log = lines.map((line, i) => JSON.stringify({ time: START + i, ...line })).join('\n')
  const args = [file('r.yaml', rules), '--traffic', file('t.jsonl', log), ...flags]
  const text = await printedBy(simulate, [...args, '--html', html, '--decisions', decisions])
  const json = await printedBy(simulate, [...args, '--json'])
  return { text, json, html: readFileSync(html, 'utf8'), decisions: readFileSync(decisions, 'utf8') }
}

const rulesOf = (key: string, more = ''): string =>
  `domain: api\ndescriptors:\n  - key: ${key}\n    ${more}rate_limit: { unit: day, requests_per_unit: 1 }\n`

describe('a replay of hostile traffic', () => {
  it('writes no secret anywhere: keys, queries, user agents, referrers, cookies', async () => {
    const planted = [
      'sk_live_PLANTED_KEY_0',
      'PLANTED_QUERY',
      'PLANTED_AGENT',
      'PLANTED_REFERRER',
      'PLANTED_COOKIE',
      'PLANTED_TOKEN',
    ]
    const line = {
      api_key: planted[0],
      method: 'GET',
      path: `/reset?token=${planted[1]}#${planted[1]}`,
      user_agent: planted[2],
      referer: `https://x/?${planted[3]}`,
      cookie: planted[4],
      token: planted[5],
    }
    const runs = [
      await everything(rulesOf('api_key', 'secret: true\n    '), [line, line, line]),
      // The rules do not say that it is a secret, but it sounds like one.
      await everything(rulesOf('token'), [line, line, line], '--fail-if', 'refused(cookie) > 0'),
      await everything(rulesOf('endpoint'), [line, line, line]),
      await everything(rulesOf('path'), [line, line, line], '--caller', 'api_key'),
    ]
    process.exitCode = undefined
    for (const { decisions, ...reports } of runs) {
      for (const secret of planted) {
        // The decision log shows what rules count by, unless they call it a secret, as that of the service does.
        const shown = Object.values(reports).join('\n') + (secret === planted[5] ? '' : decisions)
        expect(shown.split('\n').filter((each) => each.includes(secret))).toEqual([])
      }
      expect(reports.text).toContain('refused  2 requests')
    }
    expect(runs[0].text).toMatch(/api_key=sk_l~[0-9a-f]{16}/)
  })

  it('hashes secrets otherwise for every log, so that no one who has a report alone can try out values', async () => {
    const rules = rulesOf('api_key', 'secret: true\n    ')
    const nameIn = async (user: string): Promise<string | undefined> => {
      const { text } = await everything(rules, [{ user }, { api_key: 'abc' }, { api_key: 'abc' }])
      return /api_key=(\S+)/.exec(text)?.[1]
    }
    const [one, other] = [await nameIn('a'), await nameIn('b')]
    expect(one).toMatch(/^~[0-9a-f]{16}$/)
    expect(other).not.toBe(one)
  })

  it('shows names that a terminal would obey, or that pretend to be more lines, as their codes', async () => {
    const name = 'x\u001b[2J\nrefused  0 requests\u202e'
    const { text } = await everything(rulesOf('user'), [{ user: name }, { user: name }])
    expect(text).toContain('user=x\\u{1b}[2J\\u{a}refused  0 requests\\u{202e}\n')
    expect(text).not.toMatch(/^refused {2}0 requests/m)
  })

  it('keeps a page a page', async () => {
    const name = `"><script>alert(1)</script><img src=x onerror='1'>`
    const { html } = await everything(rulesOf('user'), [{ user: name }, { user: name }])
    expect(html).not.toMatch(/<script|<img|onerror='/)
    expect(html).toContain('user=&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
  })

  it('reads past lines of any length, nesting and bytes, and replays the rest', async () => {
    const file = folder()
    const good = (i: number): string => JSON.stringify({ time: START + i, user: 'ada' })
    const hostile = [
      `{"time":${START},"user":"${'x'.repeat(10_000_000)}"}`,
      `{"a":${'['.repeat(60_000)}`,
      `{"a":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)},"time":${START},"user":"deep"}`,
      `{"time":${START},"user":"\\ud800\\u0000"}`,
      '{"__proto__":{"user":"p"},"time":1e309}',
      '\u0000'.repeat(1_000),
      `{"time":${START},"time":"2026-13-45T99:99:99Z","user":"b"`,
    ]
    const log = [good(0), ...hostile, good(1)].join('\n')
    const args = [file('r.yaml', rulesOf('user')), '--traffic', file('t.jsonl', log), '--json']
    const { totals, traffic } = JSON.parse(await printedBy(simulate, args)) as Record<string, Record<string, number>>
    expect(traffic).toMatchObject({ lines: 9, unread: 6 })
    expect(totals).toMatchObject({ requests: 3, refused: 1 })
  })

  it('unpacks a log of zeros a piece at a time', async () => {
    const packed = gzipSync(Buffer.alloc(200_000_000))
    expect(packed.length).toBeLessThan(300_000)
    let most = 0
    let tooLong = 0
    for await (const block of textBlocks(openTraffic(folder()('zeros.gz', packed)).chunks)) {
      most = Math.max(most, block.text.length)
      tooLong += block.tooLong
    }
    expect(most).toBeLessThanOrEqual(65_536)
    expect(tooLong).toBe(1)
  })

  it('says that a packed log is torn', async () => {
    const torn = folder()('torn.gz', gzipSync('x\n'.repeat(10_000)).subarray(0, 40))
    const read = async (): Promise<void> => {
      for await (const _ of textBlocks(openTraffic(torn).chunks));
    }
    await expect(read()).rejects.toThrow(/^FILE_UNREADABLE: .*torn\.gz: Z_BUF_ERROR\./)
  })
})
