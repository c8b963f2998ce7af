import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { cleanFolder } from './packed.ts'

const execute = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('../../scripts/pack.mjs', import.meta.url))

function emptyApp(): string {
  const app = cleanFolder()
  onTestFinished(() => rmSync(app, { recursive: true }))
  return app
}

it('npm run pack -- --into APP installs the library into an app, which can use it', async () => {
  const app = emptyApp()
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "private": true, "type": "module" }')
  await execute('node', [SCRIPT, '--into', app])
  const { dependencies } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))
  expect(dependencies).toEqual({ sluice: expect.stringMatching(/^file:vendor\/sluice-\d+\.\d+\.\d+\.tgz$/) })
  const use = `import { rateLimit } from 'sluice'; console.log(rateLimit({ limit: 2, window: '1m' }).check('a').remaining)`
  const { stdout } = await execute('node', ['--input-type=module', '--eval', use], { cwd: app })
  expect(stdout).toBe('1\n')
})

it.each<[string, (app: string) => string[], string]>([
  ['no folder', () => ['--into'], '--into needs the folder of an app'],
  ['a folder without an app', (app) => ['--into', app], 'has no package.json'],
])('npm run pack says what is missing: %s', async (_, args, message) => {
  const failed = await execute('node', [SCRIPT, ...args(emptyApp())]).catch(
    (error: { stderr: string; stdout: string }) => error,
  )
  expect(`${failed.stdout}${failed.stderr}`).toContain(message)
})
