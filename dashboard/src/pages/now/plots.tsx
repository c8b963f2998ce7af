import { durationText } from 'sluice/internal/core/duration-text'
import { frames } from '../../api/live.ts'
import { formatRate } from '../../format/rate.ts'
import { Card } from '../../ui/parts.tsx'
import { type Line, type Marker, Plot } from '../../ui/plot.tsx'
import { RANGES, type RangeName, seriesOf } from './series.ts'

const REQUESTS: readonly Line[] = [
  { label: 'Allowed', color: 1, isFilled: true },
  { label: 'Refused', color: 2, isFilled: true },
  { label: 'Shadow', color: 3, isDashed: true },
]
const TIMES: readonly Line[] = [
  { label: 'p50', color: 4 },
  { label: 'p99', color: 5 },
]

interface PlotsProps {
  readonly range: RangeName
  readonly markers: readonly Marker[]
}

/** Plots shows the last minutes: requests a second, and how long decisions took. */
export function Plots({ range, markers }: PlotsProps) {
  const { spanMs, stepMs, text } = RANGES[range]
  const series = seriesOf(frames.value, RANGES[range])
  const { times, allowed, refused, shadow, p50, p99 } = series
  const step = <span class="small faint">{stepMs > 1_000 && `a point for ${durationText(stepMs)}`}</span>
  return (
    <>
      <Card title="Requests a second" span="half" actions={step}>
        <Plot
          label={`Requests a second, last ${text}`}
          lines={REQUESTS}
          data={[times, allowed, refused, shadow]}
          markers={markers}
          format={formatRate}
          spanMs={spanMs}
        />
      </Card>
      <Card title="Decision time" span="half" actions={step}>
        <Plot
          label={`Decision time, last ${text}`}
          lines={TIMES}
          data={[times, p50, p99]}
          markers={markers}
          format={durationText}
          spanMs={spanMs}
        />
      </Card>
    </>
  )
}
