import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { simulate } from '../../server/src/cli/simulate.ts'
import { printedBy } from '../cli/printed.suite.ts'
import { openBrowser, Visit } from '../dashboard/browser.mjs'

const START = Date.UTC(2026, 10, 20)
const rulesOf = (limit: number): string =>
  `domain: api\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: ${limit} }\n  - key: endpoint\n    shadow_mode: true\n    rate_limit: { unit: minute, requests_per_unit: 30 }\n`

let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

/** A day of requests, more of them about noon, by callers one of whom has a long name. */
function log(): string {
  const lines: string[] = []
  for (let minute = 0; minute < 1_440; minute += 5) {
    const busy = 2 + Math.round(20 * Math.max(0, Math.sin(((minute - 360) * Math.PI) / 720)))
    for (let i = 0; i < busy; i++) {
      const user = i % 3 === 0 ? 'ada' : i % 3 === 1 ? 'bob' : 'x'.repeat(150)
      lines.push(
        JSON.stringify({ time: (START + minute * 60_000 + i * 500) / 1_000, user, method: 'GET', path: '/items' }),
      )
    }
  }
  return lines.join('\n')
}

it.each([
  ['what is refused', []],
  ['what a change changes', ['--against', 'old.yaml']],
])(
  'the page of %s has plots, loads and runs nothing, passes axe in light and dark, and fits a phone',
  async (_, against) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    }
    const html = file('report.html', '')
    file('old.yaml', rulesOf(8))
    const args = [file('r.yaml', rulesOf(5)), '--traffic', file('t.jsonl', log()), '--html', html]
    await printedBy(simulate, [...args, ...against.map((arg) => (arg === 'old.yaml' ? join(folder, arg) : arg))])
    const url = pathToFileURL(html).href
    for (const [scheme, width] of [
      ['light', 1_280],
      ['dark', 1_280],
      ['light', 390],
    ] as const) {
      const visit = await Visit.open(browser, { base: 'http://localhost', scheme, width })
      const asked: string[] = []
      visit.page.on('request', (request) => asked.push(request.url()))
      await visit.page.goto(url)
      expect(asked).toEqual([url])
      expect(await visit.page.locator('svg[role=img] rect').count()).toBeGreaterThan(100)
      expect(await visit.page.locator('script').count()).toBe(0)
      expect(await visit.axe()).toEqual([])
      expect(await visit.sideways()).toBe(0)
      expect(visit.complaints()).toEqual([])
      await visit.close()
    }
  },
)
