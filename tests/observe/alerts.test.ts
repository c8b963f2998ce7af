import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { FAMILIES } from '../../server/src/observe/metrics/families.ts'
import { promtool } from '../servers/prometheus.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const dir = join(root, 'deploy/prometheus')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

interface Alert {
  readonly alert: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface AlertTest {
  readonly alertname: string
  readonly exp_alerts?: readonly unknown[]
}

const alerts = parse(read('deploy/prometheus/alerts.yml')).groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
) as Alert[]
const names = alerts.map(({ alert }) => alert)
const testFiles = readdirSync(join(dir, 'tests'))
const tested = testFiles.flatMap((file) =>
  (parse(read(`deploy/prometheus/tests/${file}`)).tests as { alert_rule_test?: AlertTest[] }[]).flatMap(
    (test) => test.alert_rule_test ?? [],
  ),
)

describe('deploy/prometheus', () => {
  it.each(['rules.yml', 'alerts.yml'])('%s is what promtool accepts', async (file) => {
    expect(await promtool('check', 'rules', '--lint=all', '--lint-fatal', join(dir, file))).toContain('SUCCESS')
  })

  it('prometheus.yml is what promtool accepts, and loads both', async () => {
    expect(await promtool('check', 'config', join(dir, 'prometheus.yml'))).toContain('2 rule files found')
  })

  it.each(testFiles)('the unit tests of %s pass', async (file) => {
    expect(await promtool('test', 'rules', join(dir, 'tests', file))).toContain('SUCCESS')
  })
})

describe.each(alerts)('$alert', ({ alert, labels, annotations }) => {
  it('is tested to fire and to be silent', () => {
    const ofThis = tested.filter(({ alertname }) => alertname === alert)
    const fires = ofThis.filter((test) => (test.exp_alerts ?? []).length > 0)
    expect(fires.length).toBeGreaterThan(0)
    expect(ofThis.length).toBeGreaterThan(fires.length)
  })

  it('says how grave it is, what it is, and where to read on', () => {
    expect(['critical', 'warning', 'info']).toContain(labels.severity)
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^\S.*[^.]$/),
      description: expect.stringMatching(/\.$/),
      runbook_url: `docs/runbooks.md#${alert.toLowerCase()}`,
    })
  })
})

it('docs/observability.md lists every alert with its severity', () => {
  const rows = read('docs/observability.md').matchAll(/^\| `(Sluice\w+)` \| (\w+) \|/gm)
  expect([...rows].map(([, alert, severity]) => [alert, severity])).toEqual(
    alerts.map(({ alert, labels }) => [alert, labels.severity]),
  )
})

describe('docs/runbooks.md', () => {
  const sections = read('docs/runbooks.md').split(/^## /m).slice(1)

  it('has a paragraph for each alert, and no other', () => {
    expect(sections.map((section) => section.split('\n')[0])).toEqual(names)
  })

  it.each(sections.map((section) => ({ name: section.split('\n')[0], section })))(
    '$name: what it means, how to see more, what to do, when to ignore it',
    ({ section }) => {
      const parts = [...section.matchAll(/^\*\*(.+?)\*\*:? \S/gm)].map(([, part]) => part)
      expect(parts).toEqual(['Means', 'See', 'Do', 'Ignore'])
    },
  )
})

const METRICS: ReadonlySet<string> = new Set(FAMILIES.map(({ name }) => name))

/** Knows the series of histograms and summaries by the names that Prometheus gives them. */
const isMetric = (name: string): boolean => METRICS.has(name) || METRICS.has(name.replace(/_(bucket|sum|count)$/, ''))

it.each([
  ...['rules.yml', 'alerts.yml', ...testFiles.map((file) => `tests/${file}`)].map(
    (file) => `deploy/prometheus/${file}`,
  ),
  'deploy/grafana/queries.yml',
  'docs/runbooks.md',
])('%s speaks only of metrics that there are', (file) => {
  // Those that are recorded from others have a colon before and after.
  const named = [...read(file).matchAll(/(?<![\w:])(?:ratelimit|process|nodejs)_\w+(?!:|\w)/g)].map(([name]) => name)
  expect(named.length).toBeGreaterThan(0)
  expect([...new Set(named)].filter((name) => !isMetric(name))).toEqual([])
})
