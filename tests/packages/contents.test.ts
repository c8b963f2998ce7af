import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { manifestOf, type Packed, pack, root } from './project.suite.ts'

const LIBRARY = /^(lib\/.+\.(js|cjs|d\.ts|d\.cts)|schema\/rules\.schema\.json|README\.md|LICENSE|package\.json)$/
const CLIENT = /^(lib\/.+\.(js|cjs|d\.ts|d\.cts)|README\.md|LICENSE|package\.json)$/
const SERVER =
  /^(dist\/.+\.(js|d\.ts)|dist\/bundle\/yaml\.cjs|dist\/dashboard\/(index\.html|manifest\.json|licenses\.txt|(assets\/)?[\w-]+\.(js|css|svg))(\.br|\.gz)?|bin\/sluice\.mjs|examples\/.+\.yaml|proto\/.+\.(proto|md)|schema\/routes\.schema\.json|README\.md|LICENSE|package\.json)$/
const TEST_CODE = /\.(test|suite)\./

let packed: Packed
beforeAll(async () => {
  packed = await pack()
}, 300_000)

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()

/** Returns the files that a manifest promises. */
const targetsOf = (exported: unknown): string[] =>
  typeof exported === 'string' ? [exported] : Object.values(exported as object).flatMap(targetsOf)

describe.each([
  ['sluice', LIBRARY, (): string => packed.library],
  ['sluice-client', CLIENT, (): string => packed.client],
  ['sluice-server', SERVER, (): string => packed.server],
] as const)('the package %s', (_, allowed, folder) => {
  it('has what is needed, and nothing else', () => {
    const files = filesIn(folder())
    expect(files.filter((path) => !allowed.test(path) || TEST_CODE.test(path))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
  })

  it('has every file that its manifest names', () => {
    const { exports, bin = {} } = manifestOf(folder())
    const named = [...targetsOf(exports), ...targetsOf(bin)].filter((path) => !path.includes('*'))
    expect(named.length).toBeGreaterThan(2)
    expect(named.filter((path) => !path.startsWith('./src/') && !existsSync(join(folder(), path)))).toEqual([])
  })

  it('has no file that points to one outside', () => {
    const code = filesIn(folder()).filter((path) => /\.(js|cjs|mjs|ts|cts)$/.test(path))
    expect(code.filter((path) => readFileSync(join(folder(), path), 'utf8').includes('sourceMappingURL'))).toEqual([])
  })

  it('has the license of the project', () => {
    expect(readFileSync(join(folder(), 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'))
  })
})

describe('the package sluice-server', () => {
  it('has the license of what is bundled into it', () => {
    const license = readFileSync(join(root, 'node_modules', 'yaml', 'LICENSE'), 'utf8').trim()
    expect(readFileSync(join(packed.server, 'dist/bundle/yaml.cjs'), 'utf8')).toContain(license)
  })
})

describe('the dashboard in sluice-server', () => {
  const folder = (): string => join(packed.server, 'dist/dashboard')

  it('is complete: every file of its list, as large as that says', () => {
    const suffixes: Readonly<Record<string, string>> = { identity: '', br: '.br', gzip: '.gz' }
    const { files } = JSON.parse(readFileSync(join(folder(), 'manifest.json'), 'utf8')) as {
      files: Record<string, { bytes: Record<string, number> }>
    }
    expect(Object.keys(files)).toContain('/index.html')
    for (const [path, { bytes }] of Object.entries(files)) {
      for (const [coding, size] of Object.entries(bytes)) {
        expect([path, coding, statSync(folder() + path + suffixes[coding]).size]).toEqual([path, coding, size])
      }
    }
  })

  it('has the licences of what is built into it', () => {
    const licenses = readFileSync(join(folder(), 'licenses.txt'), 'utf8')
    for (const name of ['preact', '@preact/signals', 'uplot']) expect(licenses).toContain(`${name} `)
  })
})

describe('the package sluice-server', () => {
  it('has the parts of the library built in, and needs no package of it', () => {
    const code = filesIn(packed.server).filter((path) => /\.(js|mjs|cjs|d\.ts)$/.test(path))
    const named = code.filter((path) =>
      /(?:from\s*|import\s*\(?|require\()['"]sluice[/'"]/.test(readFileSync(join(packed.server, path), 'utf8')),
    )
    expect(named).toEqual([])
    expect(Object.keys(manifestOf(packed.server).dependencies ?? {})).not.toContain('sluice')
  })

  it('has commands that can be run', () => {
    const commands = manifestOf(packed.server).bin ?? {}
    expect(Object.keys(commands)).toEqual(['sluice', 'sluice-server'])
    for (const path of Object.values(commands)) {
      expect(readFileSync(join(packed.server, path), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
      expect(statSync(join(packed.server, path)).mode & 0o111).not.toBe(0)
    }
  })
})
