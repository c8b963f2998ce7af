import { effect } from '@preact/signals'
import { session } from '../../state/session.ts'
import { isWhole, type Question, understand } from './question.ts'

/**
 * The last question that was asked, with its secret values, by what the address holds of it. It is kept in memory alone: back from
 * another page, an API key is not typed again, and neither the history nor the server's logs have it.
 */
let last: { readonly query: string; readonly question: Question } | undefined

effect(() => {
  if (session.value.kind !== 'open') last = undefined
})

export function remember(query: string, question: Question): void {
  last = { query, question }
}

/** questionOf is what an address asks. */
export function questionOf(query: string): Question | undefined {
  if (query !== '' && last?.query === query) return last.question
  const read = understand(query)
  return read.kind === 'understood' ? read.question : undefined
}

/** wholeOf is what an address asks, if nothing in it is left open. */
export function wholeOf(query: string): Question | undefined {
  const question = questionOf(query)
  return question !== undefined && isWhole(question) ? question : undefined
}
