import { effect, type Signal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import '../styles/plot.css'
import { clockTime } from '../format/time.ts'
import { theme } from '../state/theme.ts'
import { Button } from './button.tsx'
import { type Line, type Marker, optionsOf, type PlotData, valueText } from './plot-drawing.ts'
import { nearestIndex } from './plot-scale.ts'
import { PlotTable } from './plot-table.tsx'

export type { Line, Marker, PlotData } from './plot-drawing.ts'

interface PlotProps {
  /** What a screen reader says of it. */
  readonly label: string
  readonly lines: readonly Line[]
  readonly data: PlotData
  readonly markers?: readonly Marker[]
  readonly height?: number
  /** How a value is written. */
  readonly format: (value: number) => string
  /** How much time is shown up to the last value; without it, all of the data. */
  readonly spanMs?: number
}

/** How far from a marker the pointer may be, in pixels, for its text to be shown. */
const REACH = 6

const NO_MARKERS: readonly Marker[] = []

/**
 * Plot draws values over time. The legend shows the values at the pointer, or the last ones, so that nothing covers the lines. A part
 * of the time is chosen by dragging, and stays while values come. The arrow keys go from value to value, Page Up and Page Down from
 * marker to marker.
 */
export function Plot({ label, lines, data, markers = NO_MARKERS, height = 220, format, spanMs }: PlotProps) {
  const id = useId()
  const { box, look, isZoomed, unzoom, press, leave } = usePlot({ lines, data, markers, height, format, spanMs })
  return (
    <figure class="plot-figure">
      <figcaption class="legend">
        <Legend {...{ lines, data, format, look }} />
      </figcaption>
      <div class="legend">
        <Noted {...{ data, markers, look }} />
        {isZoomed.value && (
          <Button isSmall kind="quiet" icon="reset" onClick={unzoom}>
            Whole range
          </Button>
        )}
      </div>
      <PlotBox {...{ box, id, label, lines, data, format, look, height }} onKeyDown={press} onBlur={leave} />
      <PlotTable {...{ label, lines, data, markers, format }} />
    </figure>
  )
}

type DrawnProps = Required<Omit<PlotProps, 'label' | 'spanMs'>> & { readonly spanMs: number | undefined }

/** usePlot draws into `box`, and holds what is looked at and what part of the time is shown. */
function usePlot({ lines, data, markers, height, format, spanMs }: DrawnProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const shown = useRef({ data, markers, spanMs })
  shown.current = { data, markers, spanMs }
  /** What is looked at: a place of the plot, or a time. */
  const held = useRef<{ readonly left?: number; readonly seconds?: number }>({})
  const zoom = useRef<readonly [number, number]>(undefined)
  const isZoomed = useSignal(false)
  const look = useSignal<Look>(NOWHERE)
  const shape = lines.map(({ label: name, color }) => `${name}${color}`).join()

  const lookAgain = (): void => {
    if (plot.current !== undefined) look.value = lookOf(plot.current, held.current, shown.current.markers)
  }
  const draw = (): void => {
    const { current } = plot
    if (current === undefined) return
    const times = inSeconds(shown.current.data)
    const [min, max] = zoom.current ?? rangeOf(times[0], shown.current.spanMs)
    current.batch(() => {
      current.setData(times, false)
      current.setScale('x', { min, max })
    })
    const { seconds } = held.current
    if (seconds !== undefined) current.setCursor({ left: current.valToPos(seconds, 'x'), top: 1 }, false)
    lookAgain()
  }
  const zoomTo = (range: readonly [number, number] | undefined): void => {
    zoom.current = range
    isZoomed.value = range !== undefined
    draw()
  }
  const leave = (): void => {
    held.current = {}
    plot.current?.setCursor({ left: -10, top: -10 }, false)
    lookAgain()
  }
  const press = (event: KeyboardEvent): void => {
    const { current } = plot
    if (current === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') {
      leave()
      if (zoom.current !== undefined) zoomTo(undefined)
      return
    }
    const seconds = nextTime(current, event, look.value.place, shown.current.markers)
    if (seconds === undefined) return
    event.preventDefault()
    held.current = { seconds }
    draw()
  }

  useDrawn(box, `${shape} ${height}`, () => {
    plot.current?.destroy()
    plot.current = undefined
    const element = box.current
    if (element === null) return
    const options = optionsOf({
      ...{ element, lines, height, format, zoomed: zoomTo },
      markers: () => shown.current.markers,
      pointed: (left) => {
        held.current = left === undefined ? {} : { left }
        lookAgain()
      },
    })
    plot.current = new uPlot(options, inSeconds(shown.current.data), element)
    draw()
    return plot.current
  })
  useEffect(() => zoomTo(undefined), [spanMs])
  useEffect(draw, [data, markers])

  return { box, look, isZoomed, unzoom: () => zoomTo(undefined), press, leave }
}

/** useDrawn draws when the box is there, again when its shape or the theme changes, and follows the width of the box. */
function useDrawn(box: { readonly current: HTMLElement | null }, shape: string, make: () => uPlot | undefined): void {
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let plot: uPlot | undefined
    const redraw = (): void => {
      plot = make()
    }
    // Colours are read from the page, so another theme is another plot.
    const stop = effect(() => {
      void theme.value
      redraw()
    })
    const darkness = matchMedia('(prefers-color-scheme: dark)')
    darkness.addEventListener('change', redraw)
    // The plot stands outside of the flow, so its size never changes that of its box.
    const watcher = new ResizeObserver(() => {
      const { clientWidth: width } = element
      if (width > 0 && plot !== undefined && width !== plot.width) plot.setSize({ width, height: plot.height })
    })
    watcher.observe(element)
    return () => {
      stop()
      darkness.removeEventListener('change', redraw)
      watcher.disconnect()
      plot?.destroy()
    }
  }, [shape])
}

/** A Look is what is looked at: the index of a value, and the markers there. */
interface Look {
  readonly place: number | undefined
  readonly notes: readonly Marker[]
}
const NOWHERE: Look = { place: undefined, notes: [] }

interface LookProps {
  readonly lines: readonly Line[]
  readonly data: PlotData
  readonly format: (value: number) => string
  readonly look: Signal<Look>
}

/** Legend names the lines, with their values at the pointer, or else the last ones. */
function Legend({ lines, data, format, look }: LookProps) {
  const at = look.value.place ?? (data[0]?.length ?? 0) - 1
  return (
    <>
      {lines.map((line, i) => (
        <span key={line.label} class="row">
          <span class={`swatch plot-${line.color}${line.isDashed ? ' dashed' : ''}`} />
          {line.label}
          <span class="num value">{valueText(data[i + 1]?.[at], format)}</span>
        </span>
      ))}
    </>
  )
}

/** Noted shows the time that is looked at and the changes there, or else how many changes are marked. */
function Noted({ data, markers, look }: Pick<LookProps, 'data' | 'look'> & { readonly markers: readonly Marker[] }) {
  const { place, notes } = look.value
  const ms = place === undefined ? undefined : data[0]?.[place]
  if (ms == null) {
    const [first = 0, last = 0] = [data[0]?.[0] ?? 0, data[0]?.at(-1) ?? 0]
    const count = markers.filter(({ atMs }) => atMs >= first && atMs <= last).length
    return <span class="note faint">{count > 0 && `${count} ${count === 1 ? 'change' : 'changes'} marked`}</span>
  }
  return (
    <>
      <span class="num">{clockTime(ms)}</span>
      <span class="note clip" title={notes.map(({ text }) => text).join('\n')}>
        {notes[0]?.text}
        {notes.length > 1 && ` and ${notes.length - 1} more`}
      </span>
    </>
  )
}

interface PlotBoxProps extends LookProps {
  readonly box: { current: HTMLDivElement | null }
  readonly id: string
  readonly label: string
  readonly height: number
  readonly onKeyDown: (event: KeyboardEvent) => void
  readonly onBlur: () => void
}

/** PlotBox holds the drawing. For the keyboard and screen readers it is a slider over time, with its value in words. */
function PlotBox({ box, id, label, lines, data, format, look, height, onKeyDown, onBlur }: PlotBoxProps) {
  const { place, notes } = look.value
  const last = Math.max(0, (data[0]?.length ?? 0) - 1)
  const ms = place === undefined ? undefined : data[0]?.[place]
  const spoken =
    ms == null
      ? 'The arrow keys go through the values'
      : [
          clockTime(ms),
          ...lines.map((line, i) => `${line.label} ${valueText(data[i + 1]?.[place as number], format)}`),
          ...notes.map(({ text }) => text),
        ].join(', ')
  return (
    <div
      ref={box}
      id={id}
      class="plot"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={place ?? last}
      aria-valuetext={spoken}
      style={{ height: `${height}px` }}
      onKeyDown={onKeyDown}
      onBlur={onBlur}
    />
  )
}

const inSeconds = ([times = [], ...values]: PlotData): uPlot.AlignedData =>
  [times.map((ms) => (ms ?? 0) / 1000), ...values] as uPlot.AlignedData

function rangeOf(seconds: ArrayLike<number>, spanMs: number | undefined): [min: number, max: number] {
  const last = seconds[seconds.length - 1] ?? Date.now() / 1000
  const first = spanMs === undefined ? (seconds[0] ?? last - 60) : last - spanMs / 1000
  return first < last ? [first, last] : [last - 60, last]
}

/** lookOf returns the value nearest to what is looked at, and the markers within reach. */
function lookOf(plot: uPlot, { left, seconds }: { left?: number; seconds?: number }, markers: readonly Marker[]): Look {
  const time = seconds ?? (left === undefined ? undefined : plot.posToVal(left, 'x'))
  if (time === undefined || plot.data[0].length === 0) return NOWHERE
  const reach = Math.abs(plot.posToVal(REACH, 'x') - plot.posToVal(0, 'x'))
  const notes = markers.filter(({ atMs }) => Math.abs(atMs / 1000 - time) <= reach)
  return { place: nearestIndex(plot.data[0], time), notes }
}

/** nextTime is the time that a key leads to, in seconds. */
function nextTime(
  { data: [times] }: uPlot,
  { key, shiftKey }: KeyboardEvent,
  place: number | undefined,
  markers: readonly Marker[],
): number | undefined {
  const last = times.length - 1
  if (last < 0) return undefined
  const now = place ?? last
  const step = shiftKey ? 10 : 1
  if (key === 'ArrowLeft' || key === 'ArrowDown') return times[Math.max(0, place === undefined ? last : now - step)]
  if (key === 'ArrowRight' || key === 'ArrowUp') return times[Math.min(last, now + step)]
  if (key === 'Home') return times[0]
  if (key === 'End') return times[last]
  if (key !== 'PageUp' && key !== 'PageDown') return undefined
  const known = markers.map(({ atMs }) => atMs / 1000).sort((a, b) => a - b)
  const inside = known.filter((at) => at >= times[0] && at <= times[last])
  // The nearest value may be a little before or after its marker.
  const slack = last > 0 ? (times[last] - times[0]) / last : 1
  return key === 'PageUp'
    ? inside.findLast((at) => at < times[now] - slack)
    : inside.find((at) => at > times[now] + slack)
}
