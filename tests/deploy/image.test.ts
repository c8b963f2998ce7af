import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeTemporaryDir, reapAtExit } from '../servers/reaper.mjs'
import { sharedPglite } from '../servers/shared.ts'
import { blackBox, type Installation } from './black-box.suite.ts'
import { buildImageTree, canConfine, type ImageTree, ROOT, resultOf, rulesIn } from './image-tree.suite.ts'

const MAIN = join(ROOT, 'server/bin/sluice.mjs')
const MAX_BYTES = 120e6

let image: ImageTree
beforeAll(async () => {
  image = await buildImageTree()
}, 300_000)

/** The repository itself, built. */
function checkout(): Installation {
  const root = makeTemporaryDir('checkout')
  const rules = rulesIn(root)
  const started = (args: readonly string[], env: Readonly<Record<string, string>>) => {
    const child = spawn(process.execPath, [MAIN, ...args], { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    reapAtExit(child)
    return child
  }
  return {
    serve: (variables) => started(['serve'], variables),
    run: (args, variables) => resultOf(started(args, variables)),
    mountRules(version, text) {
      rules.mount(version, { 'api.yaml': text })
      return root
    },
  }
}

blackBox('the checkout', checkout)
blackBox('the tree of the image', () => image)

describe('the tree of the image', () => {
  const files = (folder: string): string[] =>
    readdirSync(join(image.dir, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path))

  it('takes no more than 120 MB in addition to Node.js', () => {
    const bytes = [...files('app'), ...files('bin')].map((path) => statSync(join(image.dir, path)).size)
    expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_BYTES)
  })

  it('has programs that start without a shell, by the Node.js of the base image', () => {
    for (const path of files('bin')) {
      expect(readFileSync(join(image.dir, path), 'utf8')).toMatch(/^#!\/nodejs\/bin\/node --min-semi-space-size=16\n/)
      expect(statSync(join(image.dir, path)).mode & 0o777).toBe(0o755)
    }
    expect(files('bin').sort()).toEqual(['bin/ratelimit', 'bin/sluice'])
  })

  it('has nothing that only tests and developers need, and nothing that its user may write', () => {
    const paths = files('app')
    expect(paths.filter((path) => /\.map$|\.test\.|\.suite\.|\/(vitest|typescript|vite)\//.test(path))).toEqual([])
    expect(paths.filter((path) => (statSync(join(image.dir, path)).mode & 0o022) !== 0)).toEqual([])
  })

  it('has the license of everything in it', () => {
    const licenses = readFileSync(join(image.dir, 'app/LICENSES.txt'), 'utf8')
    const packages = files('app').filter((path) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    expect(packages.length).toBeGreaterThan(5)
    for (const path of packages) {
      const { name, version } = JSON.parse(readFileSync(join(image.dir, path), 'utf8'))
      expect(licenses).toContain(`${name} ${version} (`)
    }
    expect(readFileSync(join(image.dir, 'app/LICENSE'), 'utf8')).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'))
  })

  it('keeps customers in PGlite, in the one folder that its user may write', async () => {
    const data = image.put((await sharedPglite()).dir, 'state')
    const made = await image.run(['token', 'create', '--name=first', '--role=admin'], { SLUICE_DATA: data })
    expect(made.code).toBe(0)
    const { code, stdout } = await image.run(['audit', 'verify'], { SLUICE_DATA: data })
    expect([code, stdout]).toEqual([0, 'the audit log is whole: 1 entry, as audit-head.json says\n'])
  })

  it.runIf(canConfine)('runs as a user who may write nothing else', async () => {
    const { code, stderr } = await image.run(['audit', 'verify'], { SLUICE_DATA: '/elsewhere' })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^[A-Z_]+: \/elsewhere: /)])
  })
})
