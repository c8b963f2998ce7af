const PROBLEM = 'application/problem+json'
const JSON_TYPE = 'application/json'
const MAX_CHARACTERS = 2_048

/**
 * prefersProblem says whether a client asks for application/problem+json (RFC 9110, section 12.5.1): it names the type,
 * does not exclude it, and likes plain JSON no better. A client that takes anything gets plain JSON.
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

/** qualityOf reads `q=0.5`: 1 without any, and 0 for what is no number from 0 to 1. */
function qualityOf(parameters: readonly string[]): number {
  const found = parameters.find((parameter) => parameter.startsWith('q='))
  if (found === undefined) return 1
  const quality = Number(found.slice(2))
  return quality >= 0 && quality <= 1 ? quality : 0
}
