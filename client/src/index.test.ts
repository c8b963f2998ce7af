import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { userAgent, version } from './index.ts'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

test('the version is that of the package', () => {
  expect(version).toBe(manifest.version)
})

test('the user agent is one RFC 9110 product with its version', () => {
  expect(userAgent).toMatch(/^[\w!#$%&'*+.^`|~-]+\/\d+\.\d+\.\d+$/)
})

test('the package has no dependency', () => {
  expect(manifest.dependencies ?? {}).toEqual({})
  expect(manifest.peerDependencies ?? {}).toEqual({})
})
