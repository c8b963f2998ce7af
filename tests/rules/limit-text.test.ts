import { readdirSync, readFileSync } from 'node:fs'
import { loadRules } from 'sluice/internal/core/rules/load'
import type { RuleNode } from 'sluice/internal/core/rules/rule-set'
import { expect, test } from 'vitest'
import { changeLimit, findLimits } from '../../server/src/admin/rules/limit-text.ts'

const FOLDER = new URL('../../server/examples/', import.meta.url)
const EXAMPLES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))

/** Lists the limits that a text is compiled to: the id, the tier that it is of, and its number. */
function limitsIn(text: string): string[] {
  const found: string[] = []
  const visit = (node: RuleNode, tier: string): void => {
    for (const { id, unlimited, limit } of node.rules) found.push(`${tier} ${id} ${unlimited ? '-' : limit.max}`)
    for (const [name, set] of node.tiers ?? []) visit(set, name)
    for (const { exact, blocks, wildcards, any } of node.branches.values()) {
      const below = [
        ...exact.values(),
        ...(blocks?.targets ?? []),
        ...(wildcards?.targets ?? []),
        ...(any ? [any] : []),
      ]
      for (const next of new Set(below)) visit(next, tier)
    }
  }
  for (const { root } of loadRules([{ file: 'rules', text }]).domains.values()) visit(root, '')
  return found.sort()
}

test.each(EXAMPLES)('a draft finds every limit of %s under the id that the service gives it', (name) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8')
  const found = findLimits(text).map(({ id, tier, says, isUnlimited }) =>
    [tier ?? '', id, isUnlimited ? '-' : (says.requests ?? '?')].join(' '),
  )
  expect(found.sort()).toEqual(limitsIn(text))
})

test.each(EXAMPLES)('each limit of %s can be changed separately, and the rules stay right', (name) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8')
  for (const place of findLimits(text)) {
    if (place.isUnlimited) continue
    const after = limitsIn(changeLimit(text, place, { ...place.says, requests: '7777' }))
    const before = limitsIn(text)
    expect(after).toContain(`${place.tier ?? ''} ${place.id} 7777`)
    expect(after).toHaveLength(before.length)
  }
})

test.each(EXAMPLES)('shadow mode can be switched on for each pattern of %s', (name) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8')
  for (const place of findLimits(text)) {
    const changed = changeLimit(text, place, { ...place.says, shadow: true })
    expect(limitsIn(changed)).toEqual(limitsIn(text))
    if (place.descriptor !== undefined) expect(changed).toMatch(/shadow_mode: true/)
  }
})
