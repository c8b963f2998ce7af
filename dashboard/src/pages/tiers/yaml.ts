/** Names, paths, and durations such as 5m. */
const PLAIN = /^(?:[A-Za-z_/][\w ./*-]*|\d+(?:ms|[smhdw]))$/
/** Words that YAML, or its older version, reads as something else than a text. */
const WORDS = /^(?:true|false|yes|no|on|off|y|n|null|~)$/i

/** toYaml writes a value of JSON as YAML. Only the server reads it. */
export function toYaml(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return `${indent}[]\n`
    return value.map((each) => `${indent}- ${toYaml(each, `${indent}  `).slice(indent.length + 2)}`).join('')
  }
  if (isMap(value)) {
    const entries = Object.entries(value)
    if (entries.length === 0) return `${indent}{}\n`
    return entries.map(([key, each]) => `${indent}${scalar(key)}:${below(each, indent)}`).join('')
  }
  return `${indent}${scalar(value)}\n`
}

function below(value: unknown, indent: string): string {
  const isFilled = (Array.isArray(value) && value.length > 0) || (isMap(value) && Object.keys(value).length > 0)
  return isFilled ? `\n${toYaml(value, `${indent}  `)}` : ` ${toYaml(value)}`
}

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return PLAIN.test(value) && !WORDS.test(value) && value.trim() === value ? value : JSON.stringify(value)
}
