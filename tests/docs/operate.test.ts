import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../server/src/app/settings/config.ts'
import { SETTINGS } from '../../server/src/app/settings/settings.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(join(root, 'docs/operate.md'), 'utf8')

/** eventsIn finds what the code of a folder logs. */
function eventsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.(test|suite)\.ts$/.test(name))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/(?:log\.(?:debug|info|warn|error)\(\s*|event: )'([a-z.]+)'/g)])
    .map(([, event]) => event)
}

describe('docs/operate.md', () => {
  it('lists every event of the log, and no other', () => {
    const listed = [...page.matchAll(/^\| `([a-z]+\.[a-z]+)` \|/gm)].map(([, event]) => event)
    expect(listed.sort()).toEqual([...new Set([...eventsIn('server/src/app'), ...eventsIn('server/src/cli')])].sort())
  })

  it('names only flags that there are', () => {
    const flags = [...page.matchAll(/--([a-z][a-z-]*)/g)].map(([, flag]) => flag).filter((flag) => flag !== 'help')
    expect(flags.length).toBeGreaterThan(10)
    expect(flags.filter((flag) => !SETTINGS.some((setting) => setting.flag === flag))).toEqual([])
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
