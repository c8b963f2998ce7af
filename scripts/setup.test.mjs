import { describe, expect, test } from 'vitest'
import { lockfileIsInstalled, manifestsAreLocked, npmReason, readStamp, requireNode, writeStamp } from './setup.mjs'
import { makeTree } from './temporary-tree.mjs'

describe('requireNode', () => {
  test.each(['20.19.0', '20.19', '20.20.2', '21.0.0', '100.0.0'])('%s passes', (version) => {
    expect(() => requireNode(version, '>=20.19')).not.toThrow()
  })

  test.each(['20.18.9', '18.20.8', '9.99.99'])('%s is too old', (version) => {
    expect(() => requireNode(version, '>=20.19')).toThrow(
      `Node.js 20.19 or newer is needed; this is Node.js ${version}`,
    )
  })
})

describe('npmReason', () => {
  test('gives the code and the first line that explains it', () => {
    const output = [
      'npm error code ECONNREFUSED',
      'npm error syscall connect',
      'npm error errno ECONNREFUSED',
      'npm error FetchError: request to http://127.0.0.1:9/zod failed, reason: connect ECONNREFUSED 127.0.0.1:9',
      'npm error A complete log of this run can be found in: debug-0.log',
    ].join('\n')
    expect(npmReason(output)).toBe(
      'ECONNREFUSED, FetchError: request to http://127.0.0.1:9/zod failed, reason: connect ECONNREFUSED 127.0.0.1:9',
    )
  })

  test('admits that there is none', () => {
    expect(npmReason('')).toBe('npm gave no reason')
  })
})

describe('manifestsAreLocked', () => {
  const areLocked = (manifest, locked) =>
    manifestsAreLocked(
      makeTree({
        'package.json': JSON.stringify(manifest),
        'server/package.json': '{}',
        'client/package.json': '{}',
        'dashboard/package.json': '{}',
        'package-lock.json': JSON.stringify({ packages: { '': locked, server: {}, client: {}, dashboard: {} } }),
      }),
    )

  test('holds when both name the same dependencies, in any order', () => {
    const [yaml, zod] = [{ yaml: '2.0.0' }, { zod: '4.0.0' }]
    expect(areLocked({ dependencies: { ...yaml, ...zod } }, { dependencies: { ...zod, ...yaml } })).toBe(true)
  })

  test.each([
    ['a dependency is not locked', { dependencies: { zod: '4.0.0', yaml: '2.0.0' } }],
    ['a dependency has another version', { dependencies: { zod: '4.0.1' } }],
    ['a dependency moved', { devDependencies: { zod: '4.0.0' } }],
    ['a dependency is gone', {}],
  ])('does not hold when %s', (_, manifest) => {
    expect(areLocked(manifest, { dependencies: { zod: '4.0.0' } })).toBe(false)
  })
})

describe('lockfileIsInstalled', () => {
  const zod = { version: '4.0.0', integrity: 'sha512-zod' }

  const isInstalled = (locked, installed) =>
    lockfileIsInstalled(
      makeTree({
        'package-lock.json': JSON.stringify({ packages: { '': {}, client: {}, ...locked } }),
        'node_modules/.package-lock.json': JSON.stringify({ packages: installed }),
      }),
    )

  test('holds when every locked package is there', () => {
    expect(isInstalled({ 'node_modules/zod': zod }, { 'node_modules/zod': zod })).toBe(true)
  })

  test('holds when only an optional package is missing', () => {
    expect(isInstalled({ 'node_modules/fsevents': { version: '2.0.0', optional: true } }, {})).toBe(true)
  })

  test.each([
    ['a package is missing', {}],
    ['a package has another version', { 'node_modules/zod': { ...zod, version: '3.0.0' } }],
    ['a package has other content', { 'node_modules/zod': { ...zod, integrity: 'sha512-other' } }],
  ])('does not hold when %s', (_, installed) => {
    expect(isInstalled({ 'node_modules/zod': zod }, installed)).toBe(false)
  })

  test('does not hold when nothing is installed', () => {
    expect(lockfileIsInstalled(makeTree({ 'package-lock.json': '{"packages": {}}' }))).toBe(false)
  })
})

test('a stamp reads back, and is undefined when absent or broken', () => {
  const dir = makeTree({ 'broken.json': '{' })
  writeStamp(dir, 'a/b/stamp.json', 'abc')
  expect(readStamp(dir, 'a/b/stamp.json')).toBe('abc')
  expect(readStamp(dir, 'absent.json')).toBeUndefined()
  expect(readStamp(dir, 'broken.json')).toBeUndefined()
})
