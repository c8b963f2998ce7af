import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './setup.mjs'
import { versionFiles, wrongVersions } from './version.mjs'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

it('all files have the version of package.json', () => {
  expect(wrongVersions()).toEqual([])
})

it('another version is written to every file that has one', () => {
  const files = versionFiles('9.8.7-rc.1')
  expect(files.size).toBeGreaterThan(9)
  for (const [path, text] of files) {
    expect(text, path).toContain('9.8.7-rc.1')
    // The lockfile has packages of others that may have the same version.
    if (path !== 'package-lock.json') expect(text, path).not.toContain(version)
  }
})
