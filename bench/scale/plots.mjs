import { count, median } from '../report.mjs'
import { KINDS } from './measure.mjs'
import { bar, curve, dot, figure, line, logScale, scale, text } from './svg.mjs'

const WIDTH = 760

// --- decisions, and what they needed ---

const ROW = 24
const GROUP = KINDS.length * ROW + 42

/**
 * ratesPlot draws, for each workload, decisions per second on the left and the share that waited for Redis on the
 * right.
 */
export function ratesPlot(rates, inFlight) {
  const workloads = Object.keys(rates)
  const most = Math.max(...workloads.flatMap((workload) => KINDS.map((kind) => rates[workload][kind].perSecond)))
  const length = scale([0, most], [0, 270])
  const share = scale([0, 1], [0, 130])
  const parts = workloads.map((workload, w) => {
    const top = 74 + w * GROUP
    return [text(20, top, workload, { kind: 'strong' }), ...KINDS.map((kind, k) => rateRow(kind, top + 10 + k * ROW))]

    function rateRow(kind, y) {
      const { perSecond, asked } = rates[workload][kind]
      const ratio = perSecond / rates[workload].exact.perSecond
      const label = `${rounded(perSecond)}${kind === 'exact' ? '' : `  (${ratio.toFixed(ratio < 10 ? 1 : 0)} ×)`}`
      return [
        text(20, y + 14, kind),
        bar(90, y + 2, [length(perSecond), ROW - 8], kind),
        text(90 + length(perSecond) + 7, y + 14, label, { kind: 'soft' }),
        bar(530, y + 2, [share(asked), ROW - 8], kind),
        text(530 + share(asked) + 7, y + 14, shareText(asked), { kind: 'soft' }),
      ]
    }
  })
  const about = workloads
    .map(
      (workload) =>
        `${workload}: ${KINDS.map((kind) => `${kind} ${count(rates[workload][kind].perSecond)}`).join(', ')}`,
    )
    .join('; ')
  return figure(
    { width: WIDTH, height: 66 + workloads.length * GROUP, title: 'Decisions per second by consistency', about },
    [
      text(20, 32, `Decisions per second of one process, ${inFlight} in flight`, { kind: 'head' }),
      text(530, 32, 'waited for Redis', { kind: 'head' }),
      parts,
    ],
  )
}

function rounded(value) {
  return value >= 1e6 ? `${(value / 1e6).toFixed(2)} M` : `${Math.round(value / 1000)} k`
}

function shareText(share) {
  if (share === 0) return '0 %'
  return share < 0.0001 ? '< 0.01 %' : `${(100 * share).toFixed(share < 0.01 ? 2 : 0)} %`
}

// --- admitted against the limit ---

const SAMPLE_MS = 20

/** Draws what a fleet has admitted in the last window, over time. */
export function admittedPlot(series, { limit, windowMs, phaseMs }) {
  const [left, right, top, bottom] = [60, 636, 84, 330]
  const totalMs = 3 * phaseMs
  const most = Math.max(limit, ...series.flatMap(({ counts }) => counts.slice(0, totalMs)))
  const step = most > 2 * limit ? limit : limit / 4
  const ceiling = Math.ceil((1.08 * most) / step) * step
  const x = scale([0, totalMs], [left, right])
  const y = scale([0, ceiling], [bottom, top])
  const grid = ticksTo(ceiling, step).map((value) => [
    line([left, y(value)], [right, y(value)], 'grid'),
    text(left - 8, y(value) + 4, count(value), { anchor: 'end', kind: 'soft' }),
  ])
  const seconds = ticksTo(totalMs, 1000).map((at) =>
    text(x(at), bottom + 20, `${at / 1000} s`, { anchor: 'middle', kind: 'soft' }),
  )
  const names = ['3 × the limit, on all nodes', '0.8 × the limit', '3 × the limit, 70 % on one node']
  const phases = names.map((name, i) => [
    text(x((i + 0.5) * phaseMs), top - 12, name, { anchor: 'middle', kind: 'soft' }),
    i > 0 ? line([x(i * phaseMs), top], [x(i * phaseMs), bottom], 'grid') : [],
  ])
  // What everybody shares is drawn first, so that it does not hide the rest.
  const curves = ['eventual', 'exact', 'leased'].map((kind) => {
    const { counts } = series.find((each) => each.kind === kind)
    const points = ticksTo(totalMs - 1, SAMPLE_MS).map((at) => [x(at), y(counts[at])])
    return curve(points, kind)
  })
  const peak = (kind) => Math.max(...series.find((each) => each.kind === kind).counts.slice(0, totalMs))
  const legendTop = y(limit) < (top + bottom) / 2 ? bottom - 122 : top + 10
  const legend = KINDS.map((kind, i) => [
    bar(right + 14, legendTop + i * 46, [14, 4], kind),
    text(right + 34, legendTop + 6 + i * 46, kind, { kind: 'strong' }),
    text(right + 34, legendTop + 23 + i * 46, `most ${count(peak(kind))}`, { kind: 'soft' }),
  ])
  const about = KINDS.map((kind) => `${kind}: at most ${peak(kind)} in a window`).join('; ')
  return figure({ width: WIDTH, height: 372, title: 'Admitted in the last window, four nodes', about }, [
    text(20, 32, `Admitted in the last ${windowMs / 1000} s by four processes that share one counter`, {
      kind: 'head',
    }),
    text(20, 52, `limit ${count(limit)} in ${windowMs / 1000} s, sliding_window with sub_windows: 10`, {
      kind: 'soft',
    }),
    grid,
    seconds,
    phases,
    curves,
    line([left, y(limit)], [right, y(limit)], 'limit'),
    text(right + 8, y(limit) + 4, 'limit', { kind: 'limit strong' }),
    legend,
  ])
}

const ticksTo = (end, step) => Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step)

// --- the size of slices ---

const BINS_PER_DECADE = 8
/** Above this part of the budget, nodes are still finding their pace. */
const BEGUN = 0.8
const COLOURS = ['few', 'some', 'many']

/** Draws how large slices were, by how much was left of the budget. */
export function slicesPlot(grants, { perSecond, limit }) {
  const [left, right, top, bottom] = [70, 640, 84, 370]
  const x = logScale([1, 50_000], [left, right])
  const y = logScale([1, 10_000], [bottom, top])
  const decades = (last) => ticksTo(last, 1).map((power) => 10 ** power)
  const axes = [
    decades(4).map((value) => [
      line([left, y(value)], [right, y(value)], 'grid'),
      text(left - 8, y(value) + 4, count(value), { anchor: 'end', kind: 'soft' }),
    ]),
    decades(4).map((value) => [
      line([x(value), top], [x(value), bottom], 'grid'),
      text(x(value), bottom + 20, count(value), { anchor: 'middle', kind: 'soft' }),
    ]),
    text((left + right) / 2, bottom + 42, 'left of the budget', { anchor: 'middle', kind: 'soft' }),
  ]
  const series = Object.entries(grants).map(([nodes, list], i) => {
    const points = binned(list.filter(([remaining]) => remaining < BEGUN * limit)).map(([remaining, size]) => [
      x(remaining),
      y(Math.max(1, size)),
    ])
    const [lastX, lastY] = points.at(-1)
    return [
      curve(points, COLOURS[i]),
      points.map((point) => dot(point, COLOURS[i])),
      text(lastX + 10, lastY + 4, nodes === '1' ? '1 node' : `${nodes} nodes`, { kind: `strong fill ${COLOURS[i]}` }),
    ]
  })
  const about = Object.entries(grants)
    .map(([nodes, list]) => `${nodes} nodes: from ${Math.max(...list.map(([, size]) => size))} down to 1`)
    .join('; ')
  return figure({ width: WIDTH, height: 426, title: 'The size of a slice by the remaining budget', about }, [
    text(20, 32, 'A slice is large far from the limit, and one near it', { kind: 'head' }),
    text(20, 52, `what a node got in advance; ${count(perSecond)} hits a second in all, limit ${count(limit)}`, {
      kind: 'soft',
    }),
    axes,
    series,
  ])
}

/** Takes the median size of grants that came when about the same was left. */
function binned(grants) {
  const bins = new Map()
  for (const grant of grants.filter(([left]) => left > 0)) {
    const bin = Math.round(Math.log10(grant[0]) * BINS_PER_DECADE)
    bins.set(bin, [...(bins.get(bin) ?? []), grant])
  }
  return [...bins.entries()]
    .sort(([one], [other]) => one - other)
    .map(([, list]) => [median(list.map(([left]) => left)), median(list.map(([, size]) => size))])
}
