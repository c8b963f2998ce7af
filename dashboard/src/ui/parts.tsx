import { type ComponentChildren, Fragment } from 'preact'
import type { ApiProblem } from '../api/problem.ts'
import { formatCount, wholeCount } from '../format/count.ts'
import { fullTime, relativeTime, utcText, zonedTime } from '../format/time.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'
import { nameParts } from './name-parts.ts'

type Children = { readonly children?: ComponentChildren }

/** Name is a name whose lines break after separators, and not inside words. */
export function Name({ of }: { readonly of: string }) {
  return (
    <span class="name">
      {nameParts(of).map((part, i) => (
        <Fragment key={i}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </span>
  )
}

/** PageHead is the title of a page, a sentence about it, and what can be done on it. */
export function PageHead({ title, about, children }: { title: string; about?: ComponentChildren } & Children) {
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        {about && <p>{about}</p>}
      </div>
      {children && <div class="row wrap">{children}</div>}
    </div>
  )
}

interface CardProps extends Children {
  readonly title?: ComponentChildren
  /** Shown next to the title. */
  readonly actions?: ComponentChildren
  /** No space around what is inside: for tables. */
  readonly isFlush?: boolean
  readonly span?: 'half' | 'third' | 'two-thirds' | 'quarter'
}

export function Card({ title, actions, isFlush, span, children }: CardProps) {
  return (
    <section class={span === undefined ? 'card' : `card ${span}`}>
      {title && (
        <header>
          <h2>{title}</h2>
          {actions && <div class="row wrap">{actions}</div>}
        </header>
      )}
      {isFlush ? children : <div class="inside">{children}</div>}
    </section>
  )
}

interface FigureProps {
  readonly label: string
  readonly value: ComponentChildren
  readonly detail?: ComponentChildren
}

/** Figure is one number that matters. */
export function Figure({ label, value, detail }: FigureProps) {
  return (
    <div class="card quarter">
      <div class="figure">
        <span class="label">{label}</span>
        <span class="value">{value}</span>
        <span class="detail">{detail}</span>
      </div>
    </div>
  )
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

export function Badge({ tone = 'plain', hasDot, children }: { tone?: Tone; hasDot?: boolean } & Children) {
  return (
    <span class={`badge ${tone}`}>
      {hasDot && <span class="dot" />}
      {children}
    </span>
  )
}

/** Count is a number, shortened; all of its digits are in its title. A number that is not known is a dash. */
export function Count({ of }: { readonly of: number | undefined }) {
  if (of === undefined) return <span class="faint">–</span>
  return (
    <span class="num" title={wholeCount(of)}>
      {formatCount(of)}
    </span>
  )
}

interface TimeProps {
  readonly at: string | number | null | undefined
  readonly none?: string
  /** Of what follows the calendar of another zone: a date is in that, and says so. */
  readonly zone?: string | null
}

/** Time is a time in words, with the zone of the viewer and UTC in its title. Without a time, it says so. */
export function Time({ at, none = 'never', zone = null }: TimeProps) {
  if (at === null || at === undefined) return <span class="faint">{none}</span>
  const ms = typeof at === 'number' ? at : Date.parse(at)
  return (
    <time dateTime={new Date(ms).toISOString()} title={titleOf(ms, zone)}>
      {relativeTime(ms, zone ?? undefined)}
    </time>
  )
}

function titleOf(ms: number, zone: string | null): string {
  const own = `${fullTime(ms)} · ${utcText(ms)}`
  return zone === null ? own : `${zonedTime(ms, zone)} · ${own}`
}

/** Meter is a bar of what is used of a limit. */
export function Meter({
  used,
  limit,
  label,
}: {
  readonly used: number
  readonly limit: number
  readonly label: string
}) {
  const share = limit > 0 ? Math.min(1, used / limit) : 1
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : ''
  return (
    <span
      class={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(used, limit)}
      aria-valuetext={`${wholeCount(used)} of ${wholeCount(limit)}`}
    >
      <span style={{ width: `${share * 100}%` }} />
    </span>
  )
}

interface StateProps extends Children {
  readonly icon?: IconName
  readonly title: string
}

/** State stands where there would be something: it says why there is nothing, and what to do. */
export function State({ icon = 'info', title, children }: StateProps) {
  return (
    <div class="state">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  )
}

/** Trouble says what went wrong, in the server's words, and lets one try again. */
export function Trouble({ problem, retry }: { readonly problem: ApiProblem; readonly retry?: () => void }) {
  const title = problem.isOffline ? 'The server cannot be reached' : 'That did not work'
  return (
    <div class="state" role="alert">
      <Icon name={problem.isOffline ? 'wifi' : 'alert'} />
      <strong>{title}</strong>
      {!problem.isOffline && <p class="break">{problem.message}</p>}
      {!problem.message.startsWith(problem.code) && <code class="faint">{problem.code}</code>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  )
}

/** Skeleton holds the place of lines that are being read. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div class="stack inside" aria-busy="true">
      <span class="hidden-text" role="status">
        Loading
      </span>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} class="skeleton" style={{ width: `${90 - ((i * 17) % 45)}%` }} />
      ))}
    </div>
  )
}

interface PendingProps {
  readonly of: { readonly problem?: ApiProblem | undefined; reload?(): void }
  readonly lines?: number
}

/** Pending stands for what was not read yet: lines while it is read, or the problem. */
export function Pending({ of: { problem, reload }, lines }: PendingProps) {
  if (problem !== undefined) return <Trouble problem={problem} {...(reload && { retry: reload })} />
  return <Skeleton {...(lines !== undefined && { lines })} />
}

export function Notice({ tone = 'plain', children }: { tone?: 'plain' | 'warn' | 'bad' } & Children) {
  return (
    <div class={`notice ${tone}`} role={tone === 'plain' ? undefined : 'alert'}>
      <Icon name={tone === 'plain' ? 'info' : 'alert'} />
      <div class="break">{children}</div>
    </div>
  )
}

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly value: T
  readonly onChoose: (value: T) => void
}

/** Choice is a row of a few options, of which one is taken. */
export function Choice<T extends string>({ label, options, value, onChoose }: ChoiceProps<T>) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChoose(each)}>
          {text}
        </button>
      ))}
    </div>
  )
}
