import type { RuleDocument } from './rule-document.ts'
import { YamlText } from './yaml-text.ts'

/** Reads the text of a rule file. It throws a RulesError, with file, line and column of each fault. */
export function parseRules(file: string, text: string): RuleDocument {
  const yaml = new YamlText(file, text)
  return {
    value: yaml.toValue(),
    locate: (path, of = 'value') => yaml.place(path, of),
    line: (path) => `line ${yaml.line(path)}`,
  }
}
