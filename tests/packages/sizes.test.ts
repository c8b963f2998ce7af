import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { esbuildAt, withRolldown } from '../../bench/package/bundlers.mjs'
import { CASES, INSTALLED_BUDGET } from '../../bench/package/cases.mjs'
import { esbuildPath, hasEsbuild, installCompilers } from './compilers.suite.ts'
import { type Packed, Project, pack } from './project.suite.ts'

let packed: Packed
let project: Project
beforeAll(async () => {
  await installCompilers()
  packed = await pack()
  project = new Project().install(packed.library).install(packed.client).link('hono')
}, 600_000)
afterAll(() => project?.remove())

const BUNDLERS = { rolldown: withRolldown, ...(hasEsbuild && { esbuild: esbuildAt(esbuildPath()) }) }
const BOUNDED = CASES.flatMap(({ most, ...each }) => (most === undefined ? [] : [{ ...each, most }]))

describe.each(Object.entries(BUNDLERS))('one file of %s', (_, bundle) => {
  it.each(BOUNDED)('$name has at most $most bytes, compressed', async ({ code, most }) => {
    project.write({ 'app.js': code })
    const { gzip } = await bundle(project.folder, 'app.js')
    expect(gzip).toBeLessThanOrEqual(most)
    // A bundle without its code would fit, too; one that has become smaller gets a smaller bound.
    expect(gzip).toBeGreaterThan(most * 0.9)
  })
})

it('the library takes at most 1.5 MB on disk', () => {
  const files = readdirSync(packed.library, { recursive: true, encoding: 'utf8' })
  const sizes = files.map((path) => statSync(join(packed.library, path))).filter((each) => each.isFile())
  expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(INSTALLED_BUDGET)
})
