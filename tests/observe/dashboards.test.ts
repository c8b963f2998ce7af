import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { grafanaDir, makeDashboards, readQueries } from '../../scripts/grafana.mjs'

interface GridPos {
  readonly h: number
  readonly w: number
  readonly x: number
  readonly y: number
}

interface Target {
  readonly refId: string
  readonly expr: string
  readonly datasource: unknown
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: GridPos
  readonly datasource?: unknown
  readonly targets?: readonly Target[]
}

interface Dashboard {
  readonly title: string
  readonly uid: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] }
}

const files = readdirSync(grafanaDir).filter((name) => name.endsWith('.json'))
const dashboards = files.map((file) => ({
  file,
  dashboard: JSON.parse(readFileSync(join(grafanaDir, file), 'utf8')) as Dashboard,
}))

// What Grafana's documentation of the dashboard's JSON model lists, and the panels that come with every Grafana.
const MODEL = {
  id: null,
  uid: expect.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/),
  title: expect.any(String),
  description: expect.any(String),
  tags: ['sluice'],
  timezone: expect.any(String),
  editable: true,
  graphTooltip: expect.any(Number),
  time: { from: expect.stringMatching(/^now-/), to: 'now' },
  timepicker: {},
  templating: { list: expect.any(Array) },
  annotations: { list: expect.any(Array) },
  refresh: expect.any(String),
  schemaVersion: expect.any(Number),
  version: expect.any(Number),
  links: expect.any(Array),
  panels: expect.any(Array),
}
const TYPES = ['stat', 'timeseries', 'state-timeline', 'heatmap', 'table']
const UNITS = ['short', 'reqps', 'ops', 'percentunit', 's', 'bytes']
const DATASOURCE = { type: 'prometheus', uid: '$datasource' }

const overlap = (a: GridPos, b: GridPos): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h

it('there is one for the fleet, one rule, the stores and one node, each with its own uid', () => {
  expect(files).toEqual(['fleet.json', 'node.json', 'rule.json', 'stores.json'])
  expect(new Set(dashboards.map(({ dashboard }) => dashboard.uid)).size).toBe(4)
})

it('a selector that is not defined is an error', () => {
  expect(() => readQueries('{selectors: {a: b}, dashboards: [{expr: "x{@c}"}]}')).toThrow('@c in x{@c} is no selector')
})

describe.each(dashboards)('$file', ({ file, dashboard }) => {
  const { panels, templating } = dashboard
  const shown = panels.filter(({ type }) => type !== 'row')

  it('is what "node scripts/grafana.mjs" writes', () => {
    expect(dashboard).toEqual(makeDashboards()[file])
  })

  it('has the fields of the model', () => {
    expect(dashboard).toMatchObject(MODEL)
  })

  it('asks for the data source and the nodes, and its queries use no other variable', () => {
    const names = templating.list.map(({ name }) => name)
    expect(names.slice(0, 3)).toEqual(['datasource', 'job', 'instance'])
    expect(templating.list[0]).toMatchObject({ type: 'datasource', query: 'prometheus' })
    for (const variable of templating.list.slice(1)) {
      expect(variable).toMatchObject({ type: 'query', datasource: DATASOURCE, query: { query: expect.any(String) } })
    }
    const used = [...JSON.stringify(dashboard).matchAll(/\$(\w+)/g)].map(([, name]) => name)
    expect(used.filter((name) => !name.startsWith('__') && !names.includes(name))).toEqual([])
  })

  it('numbers its panels', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  it('places them within 24 columns, and none on another', () => {
    for (const { gridPos } of panels) {
      expect(gridPos.w).toBeGreaterThan(0)
      expect(gridPos.h).toBeGreaterThan(0)
      expect(gridPos.x).toBeGreaterThanOrEqual(0)
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
    }
    const pairs = panels.flatMap((a, i) => panels.slice(i + 1).map((b) => [a, b]))
    expect(pairs.filter(([a, b]) => overlap(a.gridPos, b.gridPos)).map(([a, b]) => [a.title, b.title])).toEqual([])
  })

  it.each(shown)('$title has a known type, says what it shows, and asks the chosen data source', (panel) => {
    expect(TYPES).toContain(panel.type)
    expect(panel.description).toMatch(/^\S.*\.$/s)
    expect(panel).toMatchObject({
      datasource: DATASOURCE,
      fieldConfig: {
        defaults: {
          unit: expect.toBeOneOf(UNITS),
          thresholds: { mode: 'absolute', steps: expect.any(Array) },
          mappings: expect.any(Array),
        },
        overrides: [],
      },
      options: expect.any(Object),
    })
    const { targets = [] } = panel
    expect(targets.length).toBeGreaterThan(0)
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
    for (const target of targets) {
      expect(target).toMatchObject({ refId: expect.stringMatching(/^[A-Z]$/), datasource: DATASOURCE })
      expect(target.expr).toMatch(/job=~"\$job", instance=~"\$instance"/)
    }
  })

  it('thresholds begin without a value and rise', () => {
    for (const panel of shown as unknown as { fieldConfig: { defaults: { thresholds: { steps: Step[] } } } }[]) {
      const [first, ...others] = panel.fieldConfig.defaults.thresholds.steps.map(({ value }) => value)
      expect(first).toBeNull()
      expect(others).toEqual([...others].sort((a, b) => Number(a) - Number(b)))
    }
  })
})

interface Step {
  readonly color: string
  readonly value: number | null
}
