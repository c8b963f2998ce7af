import type { Entry } from 'sluice/internal/core/request'

/**
 * An entry whose value may stand for others: any (`pattern` is ''), or the values of a wildcard or an address block.
 */
export interface PatternEntry extends Entry {
  readonly pattern?: string
}

/** OPEN stands for a value that is not known. Requests cannot have it: control characters are refused. */
export const OPEN = '\0'

export const isOpen = ({ pattern }: PatternEntry): boolean => pattern !== undefined

function levelText({ key, value, pattern }: PatternEntry): string {
  return pattern === '' ? key : `${key}=${pattern ?? value}`
}

export function pathText(entries: readonly PatternEntry[]): string {
  return entries.map(levelText).join('/')
}

/** Writes what stands below a caller as overrides do. */
export function descriptorOf(below: readonly PatternEntry[]): string {
  if (below.length === 0) return 'default'
  const text = pathText(below)
  return below.length === 1 ? text.replace('=', ':') : text
}

/** entriesIn reads a path of several levels: a slash before `key=` begins a level, any other is part of a value. */
export function entriesIn(path: string): readonly Entry[] {
  if (path === '') return []
  return path.split(/\/(?=[^/=]+=)/).map((level) => {
    const at = level.indexOf('=')
    return { key: level.slice(0, at), value: level.slice(at + 1) }
  })
}
