import type uPlot from 'uplot'
import { clockTime } from '../format/time.ts'
import { topOf } from './plot-scale.ts'

/** A Line is one of the values of a plot; `color` is the number of a plot colour of the theme. */
export interface Line {
  readonly label: string
  readonly color: 1 | 2 | 3 | 4 | 5
  readonly isFilled?: boolean
  /** For what did not happen: shadow mode. */
  readonly isDashed?: boolean
}

/** A Marker is a moment that something changed at. */
export interface Marker {
  readonly atMs: number
  readonly text: string
}

/** Times in ms, then the values of each line. null: the line is broken here; undefined: it goes on past this time. */
export type PlotData = readonly (readonly (number | null | undefined)[])[]

/** valueText is a value in words; no value is a dash. */
export function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}

export interface Drawing {
  readonly element: HTMLElement
  readonly lines: readonly Line[]
  readonly height: number
  /** How a value is written. */
  readonly format: (value: number) => string
  readonly markers: () => readonly Marker[]
  /** The pointer is at a place of the plot, in pixels, or left it. */
  readonly pointed: (left: number | undefined) => void
  /** A part of the time was chosen, in seconds; undefined: all of it again. */
  readonly zoomed: (range: readonly [number, number] | undefined) => void
}

/** Steps between the values next to the plot: one digit each. */
const STEPS = Array.from({ length: 16 }, (_, i) => [1, 2, 5].map((digit) => Number(`${digit}e${i - 6}`))).flat()

/** optionsOf returns how a plot is drawn, in the colours of the current theme. */
export function optionsOf({ element, lines, height, format, markers, pointed, zoomed }: Drawing): uPlot.Options {
  const style = getComputedStyle(element)
  const colorOf = (color: string): string => resolveColor(element, color)
  const axis = {
    stroke: colorOf('var(--text-faint)'),
    grid: { stroke: colorOf('var(--line)'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  const markerColor = colorOf('var(--accent)')
  let top = 0
  const isBare = (press: MouseEvent): boolean => press.button === 0
  return {
    width: Math.max(1, element.clientWidth),
    height,
    // At the right, there is room for half of a time.
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: {
      points: { size: 6 },
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 6 },
      bind: {
        mousedown: (_, __, handler) => (press) => (isBare(press) ? handler(press) : null),
        dblclick: () => () => {
          zoomed(undefined)
          return null
        },
      },
    },
    scales: {
      x: { auto: false },
      y: {
        range: (_, __, max) => {
          top = topOf(max ?? 0, top)
          return [0, top]
        },
      },
    },
    axes: [
      { ...axis, size: 28, space: 72, values: (_, times, __, ___, step) => times.map((at) => tickText(at, step)) },
      { ...axis, size: 56, space: 36, incrs: STEPS, values: (_, values) => values.map((value) => format(value)) },
    ],
    series: [
      {},
      ...lines.map(({ label, color, isFilled, isDashed }) => ({
        label,
        stroke: colorOf(`var(--plot-${color})`),
        width: 1.5,
        points: { show: false },
        ...(isDashed && { dash: [4, 4] }),
        ...(isFilled && { fill: colorOf(`color-mix(in srgb, var(--plot-${color}) 14%, transparent)`) }),
      })),
    ],
    hooks: {
      drawClear: [(plot) => drawMarkers(plot, markers(), markerColor)],
      setCursor: [({ cursor: { left = -1 } }) => pointed(left < 0 ? undefined : left)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width < 1) return
          zoomed([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')])
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

/** tickText is a time under the plot: with seconds only where they differ. */
function tickText(seconds: number, step: number): string {
  const text = clockTime(seconds * 1000)
  return step < 60 ? text : text.replace(/:\d\d(?=\D*$)/, '')
}

/** resolveColor turns light-dark() into the one colour that is meant here: a canvas does not know it. */
function resolveColor(element: HTMLElement, value: string): string {
  const probe = document.createElement('span')
  probe.style.color = value
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** A line down the plot for each marker, with a flag at its top. */
function drawMarkers({ ctx, bbox, valToPos, scales }: uPlot, markers: readonly Marker[], color: string): void {
  const { min, max } = scales.x
  if (min === undefined || max === undefined || min === null || max === null) return
  const ratio = devicePixelRatio
  ctx.save()
  ctx.strokeStyle = color
  ctx.fillStyle = color
  ctx.lineWidth = ratio
  for (const { atMs } of markers) {
    const seconds = atMs / 1000
    if (seconds < min || seconds > max) continue
    const x = Math.round(valToPos(seconds, 'x', true)) + 0.5
    ctx.setLineDash([2 * ratio, 3 * ratio])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.beginPath()
    ctx.moveTo(x - 4 * ratio, bbox.top - 6 * ratio)
    ctx.lineTo(x + 4 * ratio, bbox.top - 6 * ratio)
    ctx.lineTo(x, bbox.top)
    ctx.fill()
  }
  ctx.restore()
}
