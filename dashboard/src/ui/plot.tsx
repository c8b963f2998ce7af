import { useEffect, useId, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import '../styles/plot.css'
import { effect } from '@preact/signals'
import { theme } from '../app/theme.ts'
import { clockTime } from '../format/time.ts'

/** A Line is one of the values of a plot; `color` is the number of a plot colour of the theme. */
export interface Line {
  readonly label: string
  readonly color: 1 | 2 | 3 | 4 | 5
  readonly isFilled?: boolean
}

/** A Marker is a moment that something changed at. */
export interface Marker {
  readonly atMs: number
  readonly text: string
}

interface PlotProps {
  /** What a screen reader says of it. */
  readonly label: string
  readonly lines: readonly Line[]
  /** Times in ms, then the values of each line. */
  readonly data: readonly (readonly (number | null)[])[]
  readonly markers?: readonly Marker[]
  readonly height?: number
  /** How a value is written. */
  readonly spell: (value: number) => string
}

/** Plot draws values over time. Zooming by drag stays while values come; a double click ends it. */
export function Plot({ label, lines, data, markers = [], height = 220, spell }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const shown = useRef({ data, markers })
  shown.current = { data, markers }
  const id = useId()
  const shape = lines.map(({ label: name, color }) => `${name}${color}`).join()

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const make = (): void => {
      plot.current?.destroy()
      const options = optionsOf(element, lines, height, spell, () => shown.current.markers)
      plot.current = new uPlot(options, inSeconds(shown.current.data), element)
    }
    // Colours are read from the page, so another theme is another plot.
    const stop = effect(() => {
      void theme.value
      make()
    })
    const darkness = matchMedia('(prefers-color-scheme: dark)')
    darkness.addEventListener('change', make)
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    watcher.observe(element)
    return () => {
      stop()
      darkness.removeEventListener('change', make)
      watcher.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, height])

  useEffect(() => {
    const { current } = plot
    if (current === undefined) return
    const [first = 0, last = 0] = [data[0]?.[0] ?? 0, data[0]?.at(-1) ?? 0]
    const { min, max } = current.scales.x ?? {}
    const known = current.data[0]
    const isZoomed = known.length > 0 && (min !== known[0] || max !== known.at(-1))
    current.setData(inSeconds(data), !isZoomed && last > first)
    if (isZoomed) current.redraw()
  }, [data])

  return (
    <figure>
      <div ref={box} class="plot" role="img" aria-labelledby={id} style={{ height: `${height}px` }} />
      <figcaption id={id} class="legend">
        <span class="hidden-text">{label}. </span>
        {lines.map((line, i) => (
          <span key={line.label} class="row">
            <span class={`swatch plot-${line.color}`} />
            {line.label}
            <span class="num faint">{lastText(data[i + 1], spell)}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function lastText(values: readonly (number | null)[] | undefined, spell: (value: number) => string): string {
  const last = values?.at(-1)
  return last === null || last === undefined ? '' : spell(last)
}

const inSeconds = ([times = [], ...values]: PlotProps['data']): uPlot.AlignedData =>
  [times.map((ms) => (ms ?? 0) / 1000), ...values] as uPlot.AlignedData

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  height: number,
  spell: (value: number) => string,
  markersNow: () => readonly Marker[],
): uPlot.Options {
  const style = getComputedStyle(element)
  const colorOf = (name: string): string => resolveColor(element, style.getPropertyValue(name))
  const axis = {
    stroke: colorOf('--text-faint'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  return {
    width: element.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 6 }, y: false },
    scales: { y: { range: (_, _min, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      {
        ...axis,
        size: 28,
        values: (_, seconds) => seconds.map((each) => clockTime(each * 1000).replace(/:\d\d(?=\D*$)/, '')),
      },
      { ...axis, size: 52, values: (_, values) => values.map(spell) },
    ],
    series: [
      {},
      ...lines.map(({ label, color, isFilled }) => {
        const stroke = colorOf(`--plot-${color}`)
        return {
          label,
          stroke,
          width: 1.5,
          points: { show: false },
          ...(isFilled && { fill: `color-mix(in srgb, ${stroke} 14%, transparent)` }),
        }
      }),
    ],
    plugins: [markersPlugin(markersNow, colorOf('--text-faint')), readoutPlugin(lines, spell)],
  }
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

/** A line down the plot for each marker. */
function markersPlugin(markersNow: () => readonly Marker[], color: string): uPlot.Plugin {
  return {
    hooks: {
      draw: ({ ctx, bbox, valToPos, scales }) => {
        ctx.save()
        ctx.strokeStyle = color
        ctx.setLineDash([3, 3])
        for (const { atMs } of markersNow()) {
          const { min = 0, max = 0 } = scales.x ?? {}
          if (atMs / 1000 < (min ?? 0) || atMs / 1000 > (max ?? 0)) continue
          const x = Math.round(valToPos(atMs / 1000, 'x', true))
          ctx.beginPath()
          ctx.moveTo(x, bbox.top)
          ctx.lineTo(x, bbox.top + bbox.height)
          ctx.stroke()
        }
        ctx.restore()
      },
    },
  }
}

/** What the lines are at the pointer. */
function readoutPlugin(lines: readonly Line[], spell: (value: number) => string): uPlot.Plugin {
  const box = document.createElement('div')
  box.className = 'readout'
  box.hidden = true
  return {
    hooks: {
      init: ({ over }) => over.append(box),
      setCursor: ({ cursor, data }) => {
        const { idx, left = -1 } = cursor
        box.hidden = idx === null || idx === undefined || left < 0
        if (box.hidden) return
        const parts = lines.flatMap(({ label }, i) => {
          const value = data[i + 1]?.[idx as number]
          return value === null || value === undefined ? [] : [`${label} ${spell(value)}`]
        })
        box.textContent = [clockTime((data[0][idx as number] ?? 0) * 1000), ...parts].join(' · ')
      },
    },
  }
}
