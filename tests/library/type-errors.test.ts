import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Returns what the compiler says about a module: each error with the lines that explain it. */
async function errorsIn(source: string): Promise<string[]> {
  const dir = mkdtempSync(join(root, 'node_modules/.cache/type-errors-'))
  try {
    writeFileSync(join(dir, 'app.ts'), source)
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { rewriteRelativeImportExtensions: false },
      include: ['app.ts'],
    }
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/.bin/tsc')
    const { stdout } = await promisify(execFile)(tsc, ['-p', dir, '--pretty', 'false']).catch(
      (failed: { stdout: string }) => failed,
    )
    return stdout.trim().split(/\n(?! )/)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const APP = `
import { createLimiter, rateLimit } from '${root}src/index.ts'
import { rateLimit as express } from '${root}src/middleware/express/index.ts'
import { rateLimit as fetch } from '${root}src/middleware/fetch/index.ts'
import { rateLimit as hono } from '${root}src/middleware/hono/index.ts'
import { rateLimit as koa } from '${root}src/middleware/koa/index.ts'
rateLimit({ limit: 1, window: '1m', brust: 2 })
rateLimit({ limit: 1, window: '1m', redis: 'redis://localhost', brust: 2 })
createLimiter({ rules: [], brust: 2 })
express({ limit: 1, window: '1m', brust: 2 })
fetch({ limit: 1, window: '1m', brust: 2 })
hono({ limit: 1, window: '1m', brust: 2 })
koa({ limit: 1, window: '1m', brust: 2 })
`

describe('a misspelled option, as the compiler shows it', () => {
  it('is one error about itself, which names no other library and no overload', { timeout: 600_000 }, async () => {
    const errors = await errorsIn(APP)
    expect(errors, errors.join('\n')).toHaveLength(7)
    for (const error of errors) {
      expect(error).toMatch(
        /error TS2\d{3}: Object literal may only specify known properties, .*'brust' does not exist/,
      )
      expect(error).not.toMatch(/overload|windowMs/)
    }
  })
})
