import { useState } from 'preact/hooks'
import { formatCount } from '../../../format/count.ts'
import { type Column, RecordList } from '../../../kit/record-list.tsx'
import type { UsageDay } from '../data/usage-days.ts'

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' })
/** A date stands below every so many bars. */
const LABEL_EVERY = 7

interface DayBarsProps {
  readonly days: readonly UsageDay[]
  readonly what: 'requests' | 'cost'
}

/** DayBars draws a bar for each day of UTC, and has the same as a table. */
export function DayBars({ days, what }: DayBarsProps) {
  const [pointed, setPointed] = useState<UsageDay>()
  const most = Math.max(1, ...days.map((day) => heightOf(day, what)))
  return (
    <figure class="day-bars">
      <p class="small soft num" aria-hidden="true">
        {pointed === undefined ? `Most in a day: ${formatCount(most)}` : textOf(pointed)}
      </p>
      <div class="bars" aria-hidden="true" onMouseLeave={() => setPointed(undefined)}>
        {days.map((day, i) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has the same
          <div key={day.atMs} class="bar" onMouseEnter={() => setPointed(day)}>
            <Bar day={day} what={what} most={most} />
            <span class="day">{(days.length - 1 - i) % LABEL_EVERY === 0 ? DAY.format(day.atMs) : ''}</span>
          </div>
        ))}
      </div>
      <details class="small">
        <summary>As a table</summary>
        <RecordList
          label="Usage by day"
          columns={COLUMNS}
          list={{ data: days.toReversed() }}
          keyOf={({ atMs }) => String(atMs)}
          empty={null}
        />
      </details>
    </figure>
  )
}

const COLUMNS: readonly Column<UsageDay>[] = [
  { title: 'Day (UTC)', cell: ({ atMs }) => DAY.format(atMs) },
  { title: 'Allowed', align: 'right', cell: ({ allowed }) => allowed.toLocaleString() },
  { title: 'Refused', align: 'right', cell: ({ refused }) => refused.toLocaleString() },
  { title: 'Cost', align: 'right', cell: ({ cost }) => cost.toLocaleString() },
]

const heightOf = ({ allowed, refused, cost }: UsageDay, what: DayBarsProps['what']): number =>
  what === 'requests' ? allowed + refused : Math.max(0, cost)

function Bar({ day, what, most }: { readonly day: UsageDay; readonly most: number } & Pick<DayBarsProps, 'what'>) {
  const share = (value: number) => ({ height: `${(Math.max(0, value) / most) * 100}%` })
  return (
    <span class="column">
      {what === 'cost' ? (
        <span class="plot-5" style={share(day.cost)} />
      ) : (
        <>
          <span class="plot-2" style={share(day.refused)} />
          <span class="plot-1" style={share(day.allowed)} />
        </>
      )}
    </span>
  )
}

const textOf = ({ atMs, allowed, refused, cost }: UsageDay): string =>
  `${DAY.format(atMs)}: ${formatCount(allowed)} allowed, ${formatCount(refused)} refused, cost ${formatCount(Math.max(0, cost))}`
