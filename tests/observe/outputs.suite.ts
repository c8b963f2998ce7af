import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Started } from '../cli/sluice-process.suite.ts'

/** What a service put out, or may be asked for, while it ran. */
export interface Watched {
  readonly service: Started
  readonly decisionLog: string
  /** What it answered to callers: bodies, fields, statuses, words of errors. */
  readonly answers: readonly string[]
  /** What a collector of spans got, byte by byte. */
  readonly spans: readonly string[]
  /** What Redis holds: keys and channels. */
  readonly stored: () => Promise<string>
}

const page = (path: string) => async (watched: Watched) => {
  const response = await fetch(watched.service.admin + path)
  return `${response.status} ${await response.text()}`
}

/**
 * All places where something that a caller said might come out: a secret that is planted appears in none. A new output
 * of the service gets a line here. `says` is a text that it has in any case, so that an empty one is noticed.
 */
export const OUTPUTS: readonly [name: string, read: (watched: Watched) => Promise<string>, says: string][] = [
  ['/stats', page('/stats'), 'over_limit'],
  ['/rlconfig', page('/rlconfig'), 'api_key'],
  ['an admin page that is not there', page('/no-such-page'), '404'],
  ['answers to callers', async ({ answers }) => answers.join('\n'), 'OVER_LIMIT'],
  ['spans', async ({ spans }) => spans.join('\n'), 'ratelimit.check'],
  ['the decision log', async ({ decisionLog }) => filesBeside(decisionLog), 'over_limit'],
  ['keys in Redis', ({ stored }) => stored(), 'api_key'],
  ['standard output', ({ service }) => service.printed(''), 'sluice'],
  ['standard error', async ({ service }) => `.${service.errors()}`, '.'],
]

/** Reads a file and all that were put aside. */
function filesBeside(path: string): string {
  if (!existsSync(path)) return ''
  const dir = dirname(path)
  const names = readdirSync(dir).filter((name) => join(dir, name).startsWith(path))
  return names.map((name) => readFileSync(join(dir, name), 'utf8')).join('')
}
