import { useId, useRef, useState } from 'preact/hooks'
import { barsPath, Grid, HEIGHT } from './bars.tsx'
import { BIN_MS, BINS, drawTo, MOST } from './traffic.ts'

interface Point {
  readonly bin: number
  readonly count: number
}

/** How far each key moves in time, and how much it changes the count. */
const KEYS: Readonly<Record<string, readonly [bins: number, counts: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  PageUp: [0, 5],
  PageDown: [0, -5],
  Home: [-BINS, 0],
  End: [BINS, 0],
}

const clamp = (value: number, most: number): number => Math.min(most, Math.max(0, value))

interface DrawingProps {
  readonly counts: readonly number[]
  readonly onDraw: (counts: readonly number[]) => void
}

/** Drawing shows the traffic, and changes it by the pointer or by the arrow keys. */
export function Drawing({ counts, onDraw }: DrawingProps) {
  const id = useId()
  const { at, listeners } = useStroke(counts, onDraw)
  return (
    <div class="drawing-box">
      <div
        class="drawing"
        role="slider"
        tabIndex={0}
        aria-label="Traffic"
        aria-describedby={id}
        aria-valuemin={0}
        aria-valuemax={MOST}
        aria-valuenow={counts[at]}
        aria-valuetext={`${(at * BIN_MS) / 1000} s: ${counts[at]} requests`}
        {...listeners}
      >
        <svg class="bars" viewBox={`0 0 ${BINS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <Grid />
          <path
            class="asked"
            d={barsPath(
              () => 0,
              (bin) => counts[bin] / MOST,
            )}
          />
          <rect class="at" x={at} y={0} width={1} height={HEIGHT} />
        </svg>
      </div>
      <Axis />
      <p id={id} class="small faint">
        Draw with the pointer, or with the arrow keys: left and right move in time, up and down change the requests.
      </p>
    </div>
  )
}

/** useStroke follows the pointer and the keys. `at` is the bin that the keyboard is on. */
function useStroke(counts: readonly number[], onDraw: DrawingProps['onDraw']) {
  const [at, setAt] = useState(0)
  // Where the pointer was last, and what is drawn so far: moves come faster than the page is shown again.
  const stroke = useRef<{ last: Point; counts: readonly number[] }>(undefined)
  const draw = (from: Point, to: Point, before: readonly number[]): void => {
    const drawn = drawTo(before, from, to)
    stroke.current = { last: to, counts: drawn }
    setAt(to.bin)
    onDraw(drawn)
  }
  const end = (): void => {
    stroke.current = undefined
  }
  const listeners = {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return
      ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
      const point = pointOf(event)
      draw(point, point, counts)
    },
    onPointerMove: (event: PointerEvent): void => {
      const { current } = stroke
      if (current !== undefined) draw(current.last, pointOf(event), current.counts)
    },
    onPointerUp: end,
    onPointerCancel: end,
    onKeyDown: (event: KeyboardEvent): void => {
      const moved = KEYS[event.key]
      if (moved === undefined) return
      event.preventDefault()
      const [bins, more] = moved
      setAt(clamp(at + bins, BINS - 1))
      if (more !== 0) onDraw(counts.with(at, clamp(counts[at] + more, MOST)))
    },
  }
  return { at, listeners }
}

function pointOf(event: PointerEvent): Point {
  const box = (event.currentTarget as Element).getBoundingClientRect()
  const bin = Math.floor(((event.clientX - box.left) / box.width) * BINS)
  const count = Math.round((1 - (event.clientY - box.top) / box.height) * MOST)
  return { bin: clamp(bin, BINS - 1), count: clamp(count, MOST) }
}

const SECONDS = [0, 10, 20, 30, 40, 50, 60]

export function Axis() {
  return (
    <div class="axis faint num" aria-hidden="true">
      {SECONDS.map((second) => (
        <span key={second}>{second} s</span>
      ))}
    </div>
  )
}
