import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LAST_LINES } from '../../server/src/cli/greeting.ts'
import { longRuleText, RuleDirectory, ruleText } from '../../src/sources/rule-directory.suite.ts'
import { run, start } from '../cli/sluice-process.suite.ts'

const TYPO = ruleText(9).replace('unit: day', 'unit: minut')
const UNIT_RULE =
  '(invalid option: expected one of "second"|"minute"|"hour"|"day"|"week"|"month"|"year"). ' +
  'See docs/rules.md for the rule language.'
const IN_FORCE = ' info  rules are in force'
const REFUSED = ' error rules are refused'

interface Answer {
  readonly status: number
  readonly limit: number | undefined
  readonly remaining: number | undefined
}

/** Checks a user. Cost 0 looks without charging. */
async function ask(url: string, value: string, cost = 0): Promise<Answer> {
  const body = JSON.stringify({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value }] }], cost })
  const response = await fetch(`${url}/v1/check`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  const { verdicts } = (await response.json()) as { verdicts: { limit: number; remaining: number }[] }
  return { status: response.status, limit: verdicts[0]?.limit, remaining: verdicts[0]?.remaining }
}

/** Asks again and again until the limit is the expected one. The test's own timeout is the only one. */
async function askUntil(url: string, limit: number, value = 'alice'): Promise<Answer> {
  for (;;) {
    const answer = await ask(url, value)
    if (answer.limit === limit) return answer
  }
}

describe('sluice serve --rules DIR', () => {
  it('says what it runs on', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(2) })
    const { welcome, url } = await start('--rules', rules.path)
    expect(welcome.split('\n').slice(-3)).toEqual([
      `counters in memory; 1 limit in 1 domain, from ${rules.path}`,
      'Changed rules are reloaded automatically; SIGHUP reloads them immediately.',
      '',
    ])
    expect(await ask(url, 'alice')).toEqual({ status: 200, limit: 2, remaining: 2 })
  })

  it('puts a changed file into force automatically, and callers keep what they have used', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(2) })
    const { url, printed } = await start('--rules', rules.path)
    expect((await ask(url, 'alice', 2)).status).toBe(200)
    expect((await ask(url, 'alice', 1)).status).toBe(429)

    rules.write('api.yaml', ruleText(50))
    expect(await askUntil(url, 50)).toEqual({ status: 200, limit: 50, remaining: 48 })
    rules.replace('api.yaml', ruleText(3))
    expect(await askUntil(url, 3)).toEqual({ status: 200, limit: 3, remaining: 1 })
    rules.write('more/users.yml', ruleText(1, 'users'))
    await printed(`${IN_FORCE}: 2 limits in 2 domains`)
  })

  it('does so with more rules than are loaded in one step, and refuses them with line and column', async () => {
    const rules = new RuleDirectory({ 'api.yaml': longRuleText(2) })
    const { child, url, printed } = await start('--rules', rules.path)
    expect((await ask(url, 'alice', 2)).status).toBe(200)
    rules.replace('api.yaml', longRuleText(50))
    expect(await askUntil(url, 50)).toEqual({ status: 200, limit: 50, remaining: 48 })
    rules.replace('api.yaml', longRuleText(9).replace('unit: day', 'unit: minut'))
    expect(await printed(REFUSED)).toContain(
      `  RULE_INVALID: ${rules.at('api.yaml')}:4:25: unit: got "minut" ${UNIT_RULE}`,
    )
    child.kill('SIGHUP')
    await printed(' info  rules were read again: still refused, as logged above')
    rules.replace('api.yaml', longRuleText(60))
    child.kill('SIGHUP')
    await askUntil(url, 60)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })

  it('puts each version of a ConfigMap into force when it is swapped', async () => {
    const rules = new RuleDirectory()
    rules.mount('2026_01', { 'api.yaml': ruleText(1) })
    const { url } = await start('--rules', rules.path)
    for (const limit of [2, 3]) {
      rules.mount(`2026_0${limit}`, { 'api.yaml': ruleText(limit) })
      rules.remove(`..2026_0${limit - 1}`)
      await askUntil(url, limit)
    }
  })

  it('reads the rules immediately on SIGHUP, and says what came of it', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(1) })
    const { child, url, printed } = await start('--rules', rules.path)
    child.kill('SIGHUP')
    await printed(' info  rules were read again: nothing changed')
    rules.replace('api.yaml', ruleText(20))
    child.kill('SIGHUP')
    await printed(IN_FORCE)
    expect((await ask(url, 'alice')).limit).toBe(20)
    rules.replace('api.yaml', TYPO)
    child.kill('SIGHUP')
    await printed(REFUSED)
    child.kill('SIGHUP')
    await printed(' info  rules were read again: still refused, as logged above')
    expect((await ask(url, 'alice')).limit).toBe(20)
  })

  it('keeps answering by the old rules when the new ones are wrong, logs why once, and recovers', async () => {
    // As ConfigMaps, so that both files change in one step.
    const rules = new RuleDirectory()
    const mount = (version: number, api: string, b: string): void => {
      rules.mount(`v${version}`, { 'api.yaml': api, 'b.yaml': b })
    }
    mount(1, ruleText(5), ruleText(1, 'b'))
    const { child, url, printed, output } = await start('--rules', rules.path)
    mount(2, TYPO, 'domain: b\nlimits: []\n')
    await printed(REFUSED)
    expect((await ask(url, 'alice')).limit).toBe(5)

    for (const times of [1, 2]) {
      mount(2 + times, `${TYPO}# still\n`, 'domain: b\nlimits: []\n')
      child.kill('SIGHUP')
      await printed('still refused, as logged above', times)
    }
    mount(5, ruleText(70), ruleText(1, 'b'))
    await askUntil(url, 70)

    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    const lines = (await output).split(`${LAST_LINES.rules}\n`)[1].split('\n')
    const told = lines.map((line) => line.replace(/^\d{4}-.*Z /, '')).filter((line) => !line.includes('read again'))
    expect(told).toEqual([
      'error rules are refused, the last good ones stay in force:',
      `  RULE_INVALID: ${rules.at('api.yaml')}:4:25: unit: got "minut" ${UNIT_RULE}`,
      `  RULE_UNKNOWN_KEY: ${rules.at('b.yaml')}:2:1: "limits". Only keys of the rule language are accepted (docs/rules.md), so that a typo is never ignored.`,
      'info  rules are in force: 2 limits in 2 domains',
      'info  SIGTERM: health says no from now on',
      'info  accepting no new connections, finishing requests in flight',
      'info  stopped',
      '',
    ])
  })

  it('keeps the rules while their directory is gone', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(5) })
    const { url, printed } = await start('--rules', rules.path)
    renameSync(rules.path, `${rules.path}.away`)
    expect(await printed('RULE_FILE_UNREADABLE')).toContain(
      `  RULE_FILE_UNREADABLE: ${rules.path}: the file does not exist (ENOENT). `,
    )
    expect((await ask(url, 'alice')).limit).toBe(5)
    renameSync(`${rules.path}.away`, rules.path)
    await printed(IN_FORCE)
    expect((await ask(url, 'alice')).limit).toBe(5)
  })

  it('does not start on wrong rules, and prints all errors', () => {
    const rules = new RuleDirectory({
      'api.yaml': `${TYPO}  - key: user\n    rate_limit: { unit: minute, requests_per_unit: 1 }\n`,
      'b.yaml': 'domain: b\ndescriptors: [\n',
      'c.yaml': ruleText(1),
    })
    const { status, stdout, stderr } = run(['serve', '--rules', rules.path])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    const lines = stderr.replaceAll(rules.path, 'rules').trimEnd().split('\n')
    expect(lines.map((line) => line.split(': ', 2).join(' '))).toEqual([
      'RULE_INVALID rules/api.yaml:4:25',
      'RULE_DUPLICATE_KEY rules/api.yaml:5:10',
      expect.stringMatching(/^RULE_SYNTAX rules\/b\.yaml:/),
      'RULE_DUPLICATE_DOMAIN rules/c.yaml:1:9',
    ])
  })

  it('joins files of one domain with --merge-domains', async () => {
    const rules = new RuleDirectory({
      'a.yaml': ruleText(4),
      'b.yaml': 'domain: api\ndescriptors: [{ key: ip, rate_limit: { unlimited: true } }]\n',
    })
    expect(run(['serve', '--rules', rules.path]).stderr).toBe(
      `RULE_DUPLICATE_DOMAIN: ${rules.at('b.yaml')}:1:9: "api" is already defined at ${rules.at('a.yaml')}:1:9. A domain must be defined only once. Rename one, or merge them.\n`,
    )
    const { welcome, url } = await start('--merge-domains', '--rules', rules.path)
    expect(welcome).toContain('2 limits in 1 domain')
    expect((await ask(url, 'alice')).limit).toBe(4)
  })

  it('ends cleanly on SIGTERM in the middle of changes', async () => {
    const rules = new RuleDirectory({ 'api.yaml': ruleText(1) })
    const { child, output } = await start('--rules', rules.path)
    rules.write('api.yaml', ruleText(20))
    child.kill('SIGHUP')
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(await output).toMatch(/ info {2}stopped\n$/)
  })
})
