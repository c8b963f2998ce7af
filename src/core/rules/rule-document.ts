import { pathText } from '../path-text.ts'

/** One rule file before it is checked: its value, and where each part of it stands. */
export interface RuleDocument {
  readonly value: unknown
  /** Names the place of a path within the value: `rules/api.yaml:14:5`, or `rules[0].descriptors[1]`. */
  locate(path: readonly PropertyKey[], of?: 'key' | 'value'): string
  /** Returns the place in short, for a second mention in the same file: `line 6`. */
  line(path: readonly PropertyKey[]): string
}

/** Makes a RuleDocument of a plain object. */
export function objectDocument(name: string, value: unknown): RuleDocument {
  const locate = (path: readonly PropertyKey[]): string => name + pathText(path)
  return { value, locate, line: locate }
}
