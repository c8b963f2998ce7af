import { durationText } from 'sluice/internal/core/duration-text'
import { Bars } from './bars.tsx'
import { ALGORITHM_WORDS, noteOn, shareText } from './notes.ts'
import type { LimitNumbers, Result } from './simulate.ts'
import { BIN_MS } from './traffic.ts'

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)

interface ResultRowProps {
  readonly result: Result
  readonly numbers: LimitNumbers
  /** The highest bar of all rows, which share one scale. */
  readonly most: number
  /** Who the callers are, where there is more than one. */
  readonly callers: readonly string[]
}

/** ResultRow is one algorithm: what it admits and refuses over the minute, and what that comes to. */
export function ResultRow({ result, numbers, most, callers }: ResultRowProps) {
  const { title, about } = ALGORITHM_WORDS[result.algorithm]
  const [admitted, refused] = [sum(result.admitted), sum(result.refused)]
  const asked = admitted + refused
  const note = noteOn(result, numbers)
  const isConcurrency = result.algorithm === 'concurrency'
  const pace = isConcurrency ? 1 : (numbers.limit * BIN_MS) / numbers.windowMs / most
  return (
    <li class="result">
      <div class="who">
        <h3>{title}</h3>
        <p class="small soft">{about}</p>
      </div>
      <div class="stack close">
        <Bars
          admitted={result.admitted}
          refused={result.refused}
          most={most}
          pace={pace}
          label={`${title}: ${admitted} admitted and ${refused} refused, over a minute`}
        />
        <p class={note.isWarning ? 'note small warns' : 'note small soft'}>{note.text}</p>
      </div>
      <dl class="figures num">
        <Figure name="Admitted" value={shareText(admitted, asked)} detail={`${admitted} of ${asked}`} />
        <Figure
          name="Worst burst"
          value={String(result.worstBurst)}
          detail={`in ${durationText(numbers.windowMs)}`}
          warns={!isConcurrency && result.worstBurst > numbers.limit}
        />
        <Figure
          name="Longest stop"
          value={result.longestStopMs === 0 ? '–' : durationText(result.longestStopMs)}
          detail={result.longestStopMs === 0 ? 'none' : 'nothing admitted'}
        />
        {callers.map((name, i) => (
          <Figure
            key={name}
            name={name}
            value={shareText(result.callers[i].admitted, result.callers[i].asked)}
            detail={`${result.callers[i].admitted} of ${result.callers[i].asked}`}
          />
        ))}
      </dl>
    </li>
  )
}

function Figure(props: {
  readonly name: string
  readonly value: string
  readonly detail: string
  readonly warns?: boolean
}) {
  const { name, value, detail, warns = false } = props
  return (
    <div>
      <dt class="faint">{name}</dt>
      <dd class={warns ? 'value warns' : 'value'}>{value}</dd>
      <dd class="detail faint">{detail}</dd>
    </div>
  )
}
