const PROBLEM = 'application/problem+json'
const JSON_TYPE = 'application/json'
const MAX_CHARACTERS = 2_048

/**
 * Returns whether a client asks for application/problem+json (RFC 9110, section 12.5.1): it names the type, does not
 * exclude it, and likes plain JSON no better. A client that takes anything gets plain JSON.
 */
export function prefersProblem(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > MAX_CHARACTERS) return false
  const text = accept.toLowerCase()
  if (!text.includes(PROBLEM)) return false
  let problem = 0
  let json = 0
  for (const range of text.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim())
    if (type === PROBLEM) problem = qualityOf(parameters)
    else if (type === JSON_TYPE) json = qualityOf(parameters)
  }
  return problem > 0 && problem >= json
}

/** Reads `q=0.5`: 1 without any, and 0 for what is no number from 0 to 1. */
function qualityOf(parameters: readonly string[]): number {
  const found = parameters.find((parameter) => parameter.startsWith('q='))
  if (found === undefined) return 1
  const quality = Number(found.slice(2))
  return quality >= 0 && quality <= 1 ? quality : 0
}

/** The forms that an answer to a person or a program may have. */
export type AnswerForm = 'json' | 'problem' | 'html' | 'text'

/** In the order in which they are preferred where a client likes several the same. */
const FORMS: readonly (readonly [form: AnswerForm, type: string, isNamedOnly: boolean])[] = [
  ['problem', PROBLEM, true],
  ['json', JSON_TYPE, false],
  ['html', 'text/html', false],
  ['text', 'text/plain', false],
]
const MAX_RANGES = 32

/**
 * Returns the form that a client prefers (RFC 9110, section 12.5.1): the most specific range decides for each.
 * problem+json is only for clients that name it; JSON is the answer for clients that accept anything or none of these.
 */
export function preferredForm(accept: string | undefined): AnswerForm {
  if (accept === undefined || accept === '' || accept.length > MAX_CHARACTERS) return 'json'
  const ranges = new Map<string, number>()
  for (const range of accept.toLowerCase().split(',', MAX_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    if (type !== '') ranges.set(type, Math.max(qualityOf(parameters), ranges.get(type) ?? 0))
  }
  let best: AnswerForm = 'json'
  let most = 0
  for (const [form, type, isNamedOnly] of FORMS) {
    const quality = ranges.get(type) ?? (isNamedOnly ? 0 : (ranges.get(familyOf(type)) ?? ranges.get('*/*') ?? 0))
    if (quality <= most) continue
    most = quality
    best = form
  }
  return best
}

function familyOf(type: string): string {
  return `${type.slice(0, type.indexOf('/'))}/*`
}
