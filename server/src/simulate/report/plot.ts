/** A series of a plot: what it is called, its colour as a CSS class, and its values, one for each span. */
export interface PlotSeries {
  readonly name: string
  readonly colour: string
  readonly values: readonly number[]
}

export interface Plot {
  readonly title: string
  /** The time of each span, for its label. */
  readonly times: readonly string[]
  /** Stacked, the first at the bottom. */
  readonly series: readonly PlotSeries[]
}

const WIDTH = 960
const HEIGHT = 200
const LEFT = 64
const BOTTOM = 24
const TOP = 12

/** Draws stacked bars over time as SVG. Texts of callers never come into it. */
export function plotSvg({ title, times, series }: Plot): string {
  const sums = times.map((_, i) => series.reduce((sum, { values }) => sum + values[i], 0))
  const top = niceTop(Math.max(1, ...sums))
  const step = (WIDTH - LEFT) / times.length
  const y = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
  const bars = times.flatMap((time, i) => barsAt(series, i, { x: LEFT + i * step, width: step, y, time }))
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">`,
    ...[0, top / 2, top].map((value) => gridLine(value, y(value))),
    ...bars,
    ...labelsOf(times, step),
    '</svg>',
  ].join('\n')
}

interface Place {
  readonly x: number
  readonly width: number
  readonly y: (value: number) => number
  readonly time: string
}

function barsAt(series: readonly PlotSeries[], at: number, { x, width, y, time }: Place): string[] {
  let below = 0
  return series.flatMap(({ name, colour, values }) => {
    const value = values[at]
    if (value === 0) return []
    const [bottom, top] = [y(below), y(below + value)]
    below += value
    // A bar is seen however small it is next to others.
    const height = Math.max(1, bottom - top)
    const shape = `x="${fixed(x)}" y="${fixed(bottom - height)}" width="${fixed(Math.max(0.6, width * 0.9))}" height="${fixed(height)}"`
    return [`<rect class="${colour}" ${shape}><title>${time}: ${value.toLocaleString('en-US')} ${name}</title></rect>`]
  })
}

function gridLine(value: number, y: number): string {
  const label = value >= 1e6 ? `${value / 1e6} M` : value >= 1e4 ? `${value / 1e3} k` : String(value)
  return `<line class="grid" x1="${LEFT}" x2="${WIDTH}" y1="${fixed(y)}" y2="${fixed(y)}"/><text x="${LEFT - 8}" y="${fixed(y + 4)}" text-anchor="end">${label}</text>`
}

const MOST_LABELS = 7

function labelsOf(times: readonly string[], step: number): string[] {
  const every = Math.max(1, Math.ceil(times.length / MOST_LABELS))
  return times.flatMap((time, i) =>
    i % every === 0 ? [`<text x="${fixed(LEFT + i * step)}" y="${HEIGHT - 6}">${time}</text>`] : [],
  )
}

const fixed = (value: number): string => String(Number(value.toFixed(2)))

/** Returns a round number that is not below a value. */
function niceTop(value: number): number {
  const size = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((each) => each * size >= value) ?? 10
  return Math.max(2, factor * size)
}
