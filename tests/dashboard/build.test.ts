import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type BuiltFile, MAX_HELD_BYTES } from '../../server/src/admin/dashboard/dashboard-files.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const built = join(root, 'server/dist/dashboard')

/** What a browser loads in all, when it has been on every page: code and styles. */
const MAX_GZIP_BYTES = 150_000

function builtFiles(): [path: string, file: BuiltFile][] {
  return Object.entries(JSON.parse(readFileSync(join(built, 'manifest.json'), 'utf8')).files)
}

const sum = (sizes: readonly (number | undefined)[]): number => sizes.reduce<number>((all, size = 0) => all + size, 0)

describe('the built dashboard', () => {
  it('is small: all of its code and styles are at most 150 kB, compressed by gzip', () => {
    const sizes = builtFiles().filter(([path]) => /\.(js|css)$/.test(path))
    expect(sizes.length).toBeGreaterThan(1)
    expect(sum(sizes.map(([, { bytes }]) => bytes.gzip ?? bytes.identity))).toBeLessThanOrEqual(MAX_GZIP_BYTES)
  })

  it('fits into what the service holds of it, with room to grow', () => {
    const all = builtFiles().flatMap(([, { bytes }]) => Object.values(bytes))
    expect(sum(all)).toBeLessThan(MAX_HELD_BYTES / 2)
  })

  it('has what its list names, and nothing beside that', () => {
    const suffixes: Readonly<Record<string, string>> = { identity: '', br: '.br', gzip: '.gz' }
    const named = builtFiles().flatMap(([path, { bytes }]) =>
      Object.keys(bytes).map((coding) => path + suffixes[coding]),
    )
    const found = readdirSync(built, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(built.length))
    expect(found.sort()).toEqual([...named, '/manifest.json', '/licenses.txt'].sort())
    for (const [path, { bytes }] of builtFiles()) {
      if (bytes.gzip === undefined) continue
      const [plain, packed] = [readFileSync(built + path), readFileSync(`${built + path}.gz`)]
      expect([plain.length, gunzipSync(packed).equals(plain)]).toEqual([bytes.identity, true])
    }
  })

  it('asks nothing of another site, and has no code in its page', () => {
    const page = readFileSync(join(built, 'index.html'), 'utf8')
    expect(page).not.toMatch(/https?:\/\/|<style|style=|\son\w+=/)
    for (const [, attributes, code] of page.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)) {
      expect([attributes, code]).toEqual([expect.stringMatching(/ src="\/[^/]/), ''])
    }
    for (const [path] of builtFiles().filter(([each]) => each.endsWith('.css'))) {
      expect(readFileSync(built + path, 'utf8')).not.toMatch(/@import|url\(["']?(?:https?:)?\/\//)
    }
  })

  it('has the licence of every package that is built into it', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'dashboard/package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const licenses = readFileSync(join(built, 'licenses.txt'), 'utf8')
    for (const [name, version] of Object.entries(dependencies)) {
      expect(licenses).toContain(`${name} ${version}\n`)
      expect(licenses).toContain(readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8').trim())
    }
  })
})

describe('the sources of the dashboard', () => {
  it('have no page at a path that the admin port answers otherwise', () => {
    const folder = join(root, 'dashboard/src/pages')
    const files = readdirSync(folder).map((name) => join(folder, name, 'page.ts'))
    const paths = files
      .filter((file) => existsSync(file))
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/\bpath: '([^']+)'/g)].map(([, path]) => path))
    expect(paths.length).toBeGreaterThan(0)
    const taken = /^\/(?:admin|assets|stats|metrics|rlconfig|livez|readyz)(?:\/|$)/
    const isServed = (path: string): boolean =>
      path === '/' || (/^\/[a-z][a-z0-9-]*(?:\/|$)/.test(path) && !taken.test(path))
    expect(paths.filter((path) => !isServed(path))).toEqual([])
  })
})
