import { useState } from 'preact/hooks'
import { clockTime, utcText } from '../format/time.ts'
import { type Line, type Marker, type PlotData, valueText } from './plot-drawing.ts'
import { thinned } from './plot-scale.ts'

/** How many rows stand for a plot. */
const MOST_ROWS = 30

interface PlotTableProps {
  readonly label: string
  readonly lines: readonly Line[]
  readonly data: PlotData
  readonly markers: readonly Marker[]
  readonly format: (value: number) => string
}

/** PlotTable is a plot as a table. It is rendered when it is opened. */
export function PlotTable(props: PlotTableProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="plot-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && <Rows {...props} />}
    </details>
  )
}

function Rows({ label, lines, data, markers, format }: PlotTableProps) {
  const [times = [], ...values] = data
  const places = thinned(times.length, MOST_ROWS)
  return (
    <div class="table-box" role="region" aria-label={`${label}, as a table`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map((line) => (
              <th key={line.label} scope="col" class="right">
                {line.label}
              </th>
            ))}
            <th scope="col">Changes since the row below</th>
          </tr>
        </thead>
        <tbody>
          {places.map((place, row) => {
            const ms = times[place] ?? 0
            const before = times[places[row + 1]] ?? Number.NEGATIVE_INFINITY
            return (
              <tr key={ms}>
                <td class="num" title={utcText(ms)}>
                  {clockTime(ms)}
                </td>
                {lines.map((line, i) => (
                  <td key={line.label} class="right">
                    {valueText(values[i]?.[place], format)}
                  </td>
                ))}
                <td class="break">
                  {markers
                    .filter(({ atMs }) => atMs > before && atMs <= ms)
                    .map(({ text }) => text)
                    .join('; ')}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
