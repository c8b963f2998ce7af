import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { variablesOf } from '../../server/src/app/settings/setting-sources.ts'
import { SETTING_GROUPS, SETTINGS, type SettingName, type SettingSpec } from '../../server/src/app/settings/settings.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(join(root, 'docs/operate.md'), 'utf8')

/** Finds what the code of a folder logs. */
function eventsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.(test|suite)\.ts$/.test(name))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/(?:log\.(?:debug|info|warn|error)\(\s*|event: )'([a-z_.]+)'/g)])
    .map(([, event]) => event)
}

/** What the page says about a setting. */
function rowOf(setting: SettingSpec & { readonly flag: SettingName }): string {
  const { flag, value, text } = setting
  const variables = variablesOf(flag).map((name) => `\`${name}\``)
  const written = `--${flag}${value === undefined ? '' : ` ${value.replaceAll('|', '\\|')}`}`
  return `| \`${written}\` | ${variables.join(', ')} | ${setting.default ?? setting.unset} | ${text} |`
}

/** Flags of Node.js that the page speaks of. */
const OF_NODE: ReadonlySet<string> = new Set(['min-semi-space-size', 'single-threaded-gc'])

describe('docs/operate.md', () => {
  it('lists every event of the log, and no other', () => {
    const listed = [...page.matchAll(/^\| `([a-z_]+\.[a-z_]+)` \|/gm)].map(([, event]) => event)
    const logged = ['app', 'cli', 'edge'].flatMap((layer) => eventsIn(`server/src/${layer}`))
    expect(listed.sort()).toEqual([...new Set(logged)].sort())
  })

  it('names only flags that there are', () => {
    const flags = [...page.matchAll(/--([a-z][a-z-]*)/g)].map(([, flag]) => flag).filter((flag) => flag !== 'help')
    expect(flags.length).toBeGreaterThan(10)
    expect(flags.filter((flag) => !OF_NODE.has(flag) && !SETTINGS.some((setting) => setting.flag === flag))).toEqual([])
  })

  it('lists every setting, group by group, with its variables and its default', () => {
    const section = page.split(/^## /m).find((part) => part.startsWith('All settings\n')) ?? ''
    const listed = section.split('\n').filter((line) => /^(### |\| `--)/.test(line))
    expect(listed).toEqual(
      SETTING_GROUPS.flatMap((group) => [
        `### ${group}`,
        ...SETTINGS.filter((setting) => setting.group === group).map(rowOf),
      ]),
    )
  })

  it('shows a config file that loads', () => {
    const [, text] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? []
    const dir = mkdtempSync(join(tmpdir(), 'sluice-operate-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    writeFileSync(join(dir, 'sluice.yaml'), text)
    expect(readConfig(['--config', join(dir, 'sluice.yaml')], {})).toMatchObject({
      rules: ['/etc/sluice/rules'],
      redisUrl: 'redis://redis:6379',
      drainDelayMs: 5_000,
      logLevel: 'warn',
    })
  })
})
