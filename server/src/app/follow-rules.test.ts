import { describe, expect, it, onTestFinished } from 'vitest'
import { RuleDirectory } from '../../../src/sources/rule-directory.suite.ts'
import { followRules } from './follow-rules.ts'
import { logTo } from './log/log.ts'

const ruleFile = (domain: string, requests: number) =>
  `domain: ${domain}\ndescriptors:\n  - {key: user, rate_limit: {unit: day, requests_per_unit: ${requests}}}\n`

describe('rule files', () => {
  it('are reported when they were changed, added or removed, not when they were read the first time', async () => {
    const directory = new RuleDirectory({ 'a.yaml': ruleFile('a', 1), 'b.yaml': ruleFile('b', 1) })
    const config = { rules: [directory.path], mergeDomains: false, compatibility: undefined }
    const rules = await followRules(
      config,
      logTo(() => {}),
    )
    onTestFinished(rules.stop)
    expect(rules.fileChanges()).toEqual([])
    directory.write('a.yaml', ruleFile('a', 2))
    await rules.reload()
    await rules.reload()
    directory.write('c.yaml', ruleFile('c', 1))
    directory.remove('b.yaml')
    await rules.reload()
    const names = rules.fileChanges().map(({ files }) => files.map((file) => file.slice(-6)).sort())
    expect(names.flat().sort()).toEqual(['a.yaml', 'b.yaml', 'c.yaml'])
    expect(names.at(-1)).toEqual(['a.yaml'])
    directory.write('a.yaml', 'domain: [')
    await rules.reload()
    expect(rules.fileChanges().flatMap(({ files }) => files)).toHaveLength(3)
  })
})
