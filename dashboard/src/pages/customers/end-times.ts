/** A preset of when something ends by itself, in the zone of the viewer. */
export interface EndPreset {
  readonly text: string
  /** Undefined: it does not end. */
  readonly at: number | undefined
}

const HOUR_MS = 3_600_000
const FRIDAY = 5

/** endPresets are the ends that are asked for most. "Until Friday" is the end of Friday: today, if it is one. */
export function endPresets(nowMs: number): readonly EndPreset[] {
  const now = new Date(nowMs)
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  const toFriday = (FRIDAY - now.getDay() + 7) % 7
  return [
    { text: '1 h', at: nowMs + HOUR_MS },
    { text: '24 h', at: nowMs + 24 * HOUR_MS },
    { text: 'Until Friday', at: new Date(year, month, day + toFriday + 1).getTime() },
    { text: 'End of month', at: new Date(year, month + 1, 1).getTime() },
    { text: 'No end', at: undefined },
  ]
}

const two = (value: number): string => String(value).padStart(2, '0')

/** inputOf spells a time as an input of the type datetime-local holds it. No time is an empty text. */
export function inputOf(ms: number | undefined): string {
  if (ms === undefined) return ''
  const at = new Date(ms)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** An End is what an input says: a time, that there is none, or why it is wrong. */
export type End =
  | { readonly kind: 'at'; readonly ms: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'wrong'; readonly why: string }

export function endOf(typed: string, nowMs: number): End {
  if (typed === '') return { kind: 'none' }
  const ms = new Date(typed).getTime()
  if (Number.isNaN(ms)) return { kind: 'wrong', why: 'This is not a date and time.' }
  if (ms <= nowMs) return { kind: 'wrong', why: 'The end has to be in the future.' }
  return { kind: 'at', ms }
}

/** endField spells an end as the API takes it. */
export function endField(end: End): string | null {
  return end.kind === 'at' ? new Date(end.ms).toISOString() : null
}
