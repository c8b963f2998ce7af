import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { sharedPglite } from '../servers/shared.ts'

const MAIN = fileURLToPath(new URL('../../server/dist/bundle/pglite-main.js', import.meta.url))

it('PGlite starts from the bundle, with its files where it is installed', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-data-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  cpSync((await sharedPglite()).dir, dataDir, { recursive: true })
  const child = fork(MAIN, [dataDir], { execArgv: [], serialization: 'advanced' })
  const [message] = await once(child, 'message')
  child.disconnect()
  await once(child, 'exit')
  expect(message).toEqual({ type: 'ready' })
})
