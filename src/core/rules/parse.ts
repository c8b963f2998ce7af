import { pathText } from '../path-text.ts'
import { YamlText } from './yaml-text.ts'

/** A RuleDocument is one rule file before it is checked: its value, and where each part of it stands. */
export interface RuleDocument {
  readonly value: unknown
  /** locate names the place of a path within the value: `rules/api.yaml:14:5`, or `rules[0].descriptors[1]`. */
  locate(path: readonly PropertyKey[], of?: 'key' | 'value'): string
  /** line is the place in short, for a second mention in the same file: `line 6`. */
  line(path: readonly PropertyKey[]): string
}

/** parseRules reads the text of a rule file. It throws a RulesError, with file, line and column of each fault. */
export function parseRules(file: string, text: string): RuleDocument {
  const yaml = new YamlText(file, text)
  return {
    value: yaml.toValue(),
    locate: (path, of = 'value') => yaml.place(path, of),
    line: (path) => `line ${yaml.line(path)}`,
  }
}

/** objectSource makes a RuleDocument of a plain object. */
export function objectSource(name: string, value: unknown): RuleDocument {
  const locate = (path: readonly PropertyKey[]): string => name + pathText(path)
  return { value, locate, line: locate }
}
