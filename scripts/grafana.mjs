// Writes the dashboards in deploy/grafana from queries.yml next to them. A test compares the two, so that they never
// drift apart.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'yaml'
import { root } from './setup.mjs'

/** Where the dashboards are. */
export const grafanaDir = join(root, 'deploy', 'grafana')

// A version of the model from Grafana 10. Newer ones bring older models up to date when they load them.
const schemaVersion = 38
const columns = 24
const datasource = { type: 'prometheus', uid: '$datasource' }

/** Returns the content of queries.yml, with the selectors written out in every expression. */
export function readQueries(text = readFileSync(join(grafanaDir, 'queries.yml'), 'utf8')) {
  const { selectors } = parse(text)
  return parse(text, (key, value) => (key === 'expr' ? writeOut(value, selectors) : value))
}

const writeOut = (expression, selectors) =>
  expression.replace(/@(\w+)/g, (token, name) => {
    if (selectors[name] === undefined) throw new Error(`${token} in ${expression} is no selector`)
    return selectors[name]
  })

/** Returns each dashboard as Grafana imports it, by the name of its file. */
export function makeDashboards(queries = readQueries()) {
  return Object.fromEntries(queries.dashboards.map((each) => [`${each.file}.json`, makeDashboard(each, queries)]))
}

function makeDashboard({ file, title, description, variables, rows }, queries) {
  return {
    annotations: { list: [makeAnnotation(queries.annotation)] },
    description,
    editable: true,
    fiscalYearStartMonth: 0,
    graphTooltip: 1,
    id: null,
    links: [
      { type: 'dashboards', title: 'Sluice', tags: ['sluice'], asDropdown: true, includeVars: true, keepTime: true },
    ],
    panels: layOut(rows),
    refresh: '30s',
    schemaVersion,
    tags: ['sluice'],
    templating: { list: [dataSourceVariable, ...variables.map((name) => makeVariable(name, queries.variables[name]))] },
    time: { from: 'now-1h', to: 'now' },
    timepicker: {},
    timezone: '',
    title,
    uid: `sluice-${file}`,
    version: 1,
    weekStart: '',
  }
}

const makeAnnotation = ({ title, expr }) => ({
  name: title,
  titleFormat: title,
  textFormat: '{{instance}}',
  datasource,
  enable: true,
  expr,
  iconColor: 'blue',
  useValueForTime: true,
})

const dataSourceVariable = {
  name: 'datasource',
  label: 'Prometheus',
  type: 'datasource',
  query: 'prometheus',
  current: {},
  hide: 0,
  includeAll: false,
  multi: false,
  options: [],
  refresh: 1,
  regex: '',
}

const makeVariable = (name, { label, query }) => ({
  name,
  label,
  type: 'query',
  datasource,
  definition: query,
  query: { query, refId: 'PrometheusVariableQueryEditor-VariableQuery' },
  allValue: '.*',
  current: { selected: true, text: ['All'], value: ['$__all'] },
  hide: 0,
  includeAll: true,
  multi: true,
  options: [],
  refresh: 2,
  regex: '',
  sort: 1,
})

// --- panels ---

/** Gives every panel a place and a number: below the title of its row, from left to right. */
function layOut(rows) {
  const panels = []
  let [y, id] = [0, 1]
  for (const { title, panels: ofRow } of rows) {
    panels.push({ id: id++, type: 'row', title, collapsed: false, gridPos: { h: 1, w: columns, x: 0, y }, panels: [] })
    y += 1
    let [x, height] = [0, 0]
    for (const panel of ofRow) {
      const [w, h] = panel.size
      if (x + w > columns) {
        y += height
        x = 0
        height = 0
      }
      panels.push(makePanel(panel, id++, { h, w, x, y }))
      x += w
      height = Math.max(height, h)
    }
    y += height
  }
  return panels
}

function makePanel(panel, id, gridPos) {
  const { type, title, description, targets } = panel
  return {
    id,
    type,
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: { defaults: makeDefaults(panel), overrides: [] },
    options: optionsOf[type](panel),
    ...(type === 'table' && { transformations: [withoutTime] }),
    targets: targets.map((target, i) => makeTarget(type, target, i)),
  }
}

const withoutTime = { id: 'organize', options: { excludeByName: { Time: true } } }

function makeTarget(type, { expr, legend, instant = false }, i) {
  const format = { table: 'table', heatmap: 'heatmap' }[type] ?? 'time_series'
  return {
    refId: String.fromCharCode(65 + i),
    datasource,
    editorMode: 'code',
    expr,
    format,
    instant,
    range: !instant,
    legendFormat: legend ?? '__auto',
  }
}

function makeDefaults({ type, unit = 'short', max, thresholds, states, zero = false, stack = false }) {
  return {
    unit,
    // What was counted in whole requests may still be a fraction of one a second.
    ...(type !== 'heatmap' && { min: 0 }),
    ...(max !== undefined && { max }),
    ...(zero && { noValue: '0' }),
    color: { mode: states || type === 'stat' ? 'thresholds' : 'palette-classic' },
    thresholds: { mode: 'absolute', steps: stepsOf(thresholds, states) },
    mappings: states === undefined ? [] : [{ type: 'value', options: optionsOfStates(states) }],
    ...(type === 'timeseries' && { custom: lines(stack, thresholds) }),
  }
}

const stepsOf = (thresholds = [['green', null]], states = undefined) =>
  states === undefined
    ? thresholds.map(([color, value]) => ({ color, value }))
    : states.map(([value, , color], i) => ({ color, value: i === 0 ? null : value }))

const optionsOfStates = (states) =>
  Object.fromEntries(states.map(([value, text, color], index) => [value, { text, color, index }]))

const lines = (isStacked, thresholds) => ({
  drawStyle: 'line',
  fillOpacity: isStacked ? 30 : 10,
  lineWidth: 1,
  showPoints: 'never',
  spanNulls: false,
  stacking: { group: 'A', mode: isStacked ? 'normal' : 'none' },
  thresholdsStyle: { mode: thresholds === undefined ? 'off' : 'line' },
})

const newest = { calcs: ['lastNotNull'], fields: '', values: false }

const optionsOf = {
  stat: ({ thresholds, states }) => ({
    colorMode: thresholds || states ? 'background' : 'value',
    graphMode: states ? 'none' : 'area',
    justifyMode: 'auto',
    orientation: 'auto',
    reduceOptions: newest,
    textMode: 'auto',
  }),
  timeseries: () => ({
    legend: { calcs: ['lastNotNull', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  }),
  'state-timeline': () => ({
    alignValue: 'left',
    legend: { displayMode: 'list', placement: 'bottom', showLegend: false },
    mergeValues: true,
    rowHeight: 0.9,
    showValue: 'auto',
    tooltip: { mode: 'single', sort: 'none' },
  }),
  heatmap: ({ unit }) => ({
    calculate: false,
    cellGap: 1,
    color: { mode: 'scheme', scheme: 'Blues', steps: 64 },
    legend: { show: true },
    rowsFrame: { layout: 'auto' },
    tooltip: { show: true, yHistogram: false },
    yAxis: { axisPlacement: 'left', unit },
  }),
  table: () => ({ cellHeight: 'sm', footer: { show: false }, showHeader: true }),
}

/** Writes all of them. */
function writeDashboards() {
  for (const [name, dashboard] of Object.entries(makeDashboards())) {
    writeFileSync(join(grafanaDir, name), `${JSON.stringify(dashboard, null, 2)}\n`)
  }
}

const [, script] = process.argv
if (script !== undefined && import.meta.url === pathToFileURL(script).href) writeDashboards()
