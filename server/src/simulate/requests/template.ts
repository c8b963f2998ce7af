import { got, SluiceError } from 'sluice/internal/core/errors'
import type { FieldValue } from './field-values.ts'

/** How the value of an entry is written: texts, and names of fields in braces. */
export interface Template {
  readonly texts: readonly string[]
  readonly fields: readonly string[]
}

/** Reads `{method} {path}`. */
export function parseTemplate(text: string, where: string): Template {
  const parts = text.split(/\{([^{}]*)\}/)
  const texts = parts.filter((_, i) => i % 2 === 0)
  const fields = parts.filter((_, i) => i % 2 === 1)
  if (texts.some((each) => /[{}]/.test(each)) || fields.includes(''))
    throw new SluiceError('TEMPLATE_INVALID', where, got(text))
  return { texts, fields }
}

/** Returns how the value of a template is made; '' where the line lacks one of its fields. */
export function templateValue({ texts, fields }: Template, readerOf: (field: string) => FieldValue): FieldValue {
  const values = fields.map(readerOf)
  const [first] = values
  if (values.length === 0) return () => texts[0]
  if (values.length === 1 && texts.every((text) => text === '')) return first
  return (line) => {
    let text = texts[0]
    for (let i = 0; i < values.length; i++) {
      const value = values[i](line)
      if (value === '') return ''
      text += value + texts[i + 1]
    }
    return text
  }
}
