import { expect, test } from 'vitest'
import { checkDependencies } from './check-dependencies.mjs'
import { makeTree } from './temporary-tree.mjs'

function check(entry, files = {}) {
  const packages = { '': { name: 'app' }, 'node_modules/peer': { version: '1.2.3', ...entry } }
  return checkDependencies(makeTree({ 'package-lock.json': JSON.stringify({ packages }), ...files }))
}

test('a package without engines, scripts and address passes', () => {
  expect(check({})).toEqual([])
})

test('a package with an install script fails', () => {
  expect(check({ hasInstallScript: true })).toEqual([
    'node_modules/peer@1.2.3: has an install script; dependencies must install without running code',
  ])
})

test('an install script that only the package itself names fails', () => {
  const manifest = JSON.stringify({ scripts: { postinstall: 'node fetch.js' } })
  expect(check({}, { 'node_modules/peer/package.json': manifest })).toHaveLength(1)
})

test('an install script of a package that never installs on Linux passes', () => {
  expect(check({ hasInstallScript: true, os: ['darwin'] })).toEqual([])
  expect(check({ hasInstallScript: true, os: ['!linux'] })).toEqual([])
})

test('an install script of a package that also installs on Linux fails', () => {
  expect(check({ hasInstallScript: true, os: ['darwin', 'linux'] })).toHaveLength(1)
  expect(check({ hasInstallScript: true, os: ['!win32'] })).toHaveLength(1)
})

test('a package that needs a newer Node.js fails', () => {
  expect(check({ engines: { node: '>=22' } })).toEqual([
    'node_modules/peer@1.2.3: needs Node.js >=22; dependencies must run on 20.19.0',
  ])
})

test('a download address in the lockfile fails', () => {
  expect(check({ resolved: 'https://packages.example/peer.tgz' })).toEqual([
    'node_modules/peer@1.2.3: has the download address https://packages.example/peer.tgz; ' +
      'the lockfile must leave the registry to the user',
  ])
})

test('a package that needs another which is not locked fails', () => {
  expect(check({ optionalDependencies: { 'peer-linux': '1.2.3' } })).toEqual([
    'node_modules/peer@1.2.3: needs peer-linux, which the lockfile does not have; npm ci would refuse it',
  ])
})

test('what is installed apart is held to the same', () => {
  const packages = { 'node_modules/peer': { version: '1.2.3', hasInstallScript: true } }
  const files = { 'package-lock.json': '{"packages": {}}', 'site/package-lock.json': JSON.stringify({ packages }) }
  expect(checkDependencies(makeTree(files))).toEqual([
    'site/node_modules/peer@1.2.3: has an install script; dependencies must install without running code',
  ])
})

test('the link to a workspace passes', () => {
  expect(check({ link: true, resolved: 'client' })).toEqual([])
})
