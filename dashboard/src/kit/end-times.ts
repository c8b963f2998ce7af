/** A preset of when something ends, in the time zone of the viewer. */
export interface EndPreset {
  readonly text: PresetName
  /** Undefined: it does not end. */
  readonly at: number | undefined
}

export type PresetName =
  | '1 h'
  | '24 h'
  | '7 days'
  | '30 days'
  | '90 days'
  | '1 year'
  | 'Until Friday'
  | 'End of month'
  | 'No end'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const FRIDAY = 5

const SPANS: readonly (readonly [PresetName, number])[] = [
  ['1 h', HOUR_MS],
  ['24 h', DAY_MS],
  ['7 days', 7 * DAY_MS],
  ['30 days', 30 * DAY_MS],
  ['90 days', 90 * DAY_MS],
  ['1 year', 365 * DAY_MS],
]

/** endPresets returns the named ends, counted from now. "Until Friday" is the end of Friday: today, if it is one. */
export function endPresets(nowMs: number, names: readonly PresetName[]): readonly EndPreset[] {
  const now = new Date(nowMs)
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  const toFriday = (FRIDAY - now.getDay() + 7) % 7
  const ends = new Map<PresetName, number>([
    ...SPANS.map(([text, ms]) => [text, nowMs + ms] as const),
    ['Until Friday', new Date(year, month, day + toFriday + 1).getTime()],
    ['End of month', new Date(year, month + 1, 1).getTime()],
  ])
  return names.map((text) => ({ text, at: ends.get(text) }))
}

/** presetInput returns a preset in the form that an input of the type datetime-local holds. */
export const presetInput = (name: PresetName): string => inputOf(endPresets(Date.now(), [name])[0]?.at)

const two = (value: number): string => String(value).padStart(2, '0')

/** inputOf formats a time for an input of the type datetime-local. No time is an empty text. */
export function inputOf(ms: number | undefined): string {
  if (ms === undefined) return ''
  const at = new Date(ms)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** An End is what an input holds: a time, no end, or why it is wrong. */
export type End =
  | { readonly kind: 'at'; readonly ms: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'wrong'; readonly why: string }

export function endOf(typed: string, nowMs: number): End {
  if (typed === '') return { kind: 'none' }
  const ms = new Date(typed).getTime()
  if (Number.isNaN(ms)) return { kind: 'wrong', why: 'This is not a date and time.' }
  if (ms <= nowMs) return { kind: 'wrong', why: 'The end must be in the future.' }
  return { kind: 'at', ms }
}
