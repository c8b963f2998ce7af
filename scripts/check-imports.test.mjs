import { describe, expect, test } from 'vitest'
import { checkImports, layers } from './check-imports.mjs'
import { makeTree } from './temporary-tree.mjs'

const manifest = JSON.stringify({
  name: 'sluice',
  dependencies: { zod: '1.0.0', '@scope/parser': '1.0.0' },
  peerDependencies: { express: '5.0.0' },
  devDependencies: { vitest: '1.0.0' },
})

const check = (files) => checkImports(makeTree({ 'package.json': manifest, ...files }))

describe('layers', () => {
  test('a downward import and one within a layer pass', () => {
    expect(
      check({
        'src/core/a.ts': `import './b.ts'`,
        'src/core/b.ts': '',
        'src/engine/c.ts': `import type { A } from '../core/a.ts'`,
      }),
    ).toEqual([])
  })

  test('an upward import fails', () => {
    expect(
      check({ 'src/core/a.ts': `\nimport { b } from '../engine/b.ts'`, 'src/engine/b.ts': 'export const b = 1' }),
    ).toEqual(['src/core/a.ts:2 imports ../engine/b.ts: layer core may not import layer engine (allowed: none)'])
  })

  test('an upward import of a type alone fails', () => {
    expect(check({ 'src/core/a.ts': `import type { B } from '../engine/b.ts'`, 'src/engine/b.ts': '' })).toHaveLength(1)
  })

  test('the failure lists what the layer may import', () => {
    expect(check({ 'src/edge/rls/a.ts': `import '../../stores/b.ts'`, 'src/stores/b.ts': '' })).toEqual([
      'src/edge/rls/a.ts:1 imports ../../stores/b.ts: ' +
        'layer edge may not import layer stores (allowed: core, engine, identity, grpc, observe)',
    ])
  })

  test('every layer may import only layers that come before it', () => {
    const names = Object.keys(layers)
    for (const [index, name] of names.entries()) {
      for (const allowed of layers[name]) expect(names.slice(0, index)).toContain(allowed)
    }
  })

  test('a source in no layer fails', () => {
    expect(check({ 'src/utils/a.ts': '' })).toEqual([
      `src/utils/a.ts is in no layer (layers: ${Object.keys(layers).join(', ')})`,
    ])
  })

  test('the entry of the library may not import the service', () => {
    expect(check({ 'src/index.ts': `export * from './app/a.ts'`, 'src/app/a.ts': '' })).toEqual([
      'src/index.ts:1 imports ./app/a.ts: layer index.ts may not import layer app ' +
        '(allowed: core, engine, stores, library)',
    ])
  })
})

describe('files', () => {
  test('an import of a file that does not exist fails, in a test too', () => {
    expect(check({ 'src/core/a.ts': `import './b.ts'`, 'src/core/a.test.ts': `import './c.ts'` })).toEqual([
      'src/core/a.test.ts:1 imports ./c.ts: there is no such file',
      'src/core/a.ts:1 imports ./b.ts: there is no such file',
    ])
  })

  test('an import from outside of src fails', () => {
    expect(check({ 'src/core/a.ts': `import '../../bench/b.ts'`, 'bench/b.ts': '' })).toEqual([
      'src/core/a.ts:1 imports ../../bench/b.ts: a source may import nothing outside of its src',
    ])
  })

  test('a test may import in every direction, and test kits', () => {
    expect(
      check({
        'src/core/a.test.ts': `import '../stores/b.ts'\nimport '../stores/store.suite.ts'\nimport 'node:fs'`,
        'src/stores/b.ts': '',
        'src/stores/store.suite.ts': `import { test } from 'vitest'`,
      }),
    ).toEqual([])
  })

  test('a source that imports a test kit fails', () => {
    expect(check({ 'src/stores/a.ts': `import './store.suite.ts'`, 'src/stores/store.suite.ts': '' })).toEqual([
      'src/stores/a.ts:1 imports ./store.suite.ts: only tests may import tests, which are not part of the build',
    ])
  })
})

describe('cycles', () => {
  test('two files that import each other fail', () => {
    expect(check({ 'src/core/a.ts': `import './b.ts'`, 'src/core/b.ts': `import type { A } from './a.ts'` })).toEqual([
      'cycle: src/core/a.ts → src/core/b.ts → src/core/a.ts',
    ])
  })

  test('a longer cycle is shown from the file where it closes', () => {
    expect(
      check({
        'src/core/a.ts': `import './b.ts'`,
        'src/core/b.ts': `import './c.ts'`,
        'src/core/c.ts': `import './d.ts'`,
        'src/core/d.ts': `export const b = () => import('./b.ts')`,
      }),
    ).toEqual(['cycle: src/core/b.ts → src/core/c.ts → src/core/d.ts → src/core/b.ts'])
  })

  test('a file that imports itself fails', () => {
    expect(check({ 'src/core/a.ts': `import './a.ts'` })).toEqual(['cycle: src/core/a.ts → src/core/a.ts'])
  })

  test('two ways to one file are no cycle', () => {
    expect(
      check({
        'src/core/a.ts': `import './b.ts'\nimport './c.ts'`,
        'src/core/b.ts': `import './c.ts'`,
        'src/core/c.ts': '',
      }),
    ).toEqual([])
  })
})

describe('packages', () => {
  test('declared packages, their subpaths and Node.js modules pass', () => {
    const source = `import 'zod'\nimport 'zod/mini'\nimport '@scope/parser/x'\nimport 'express'\nimport 'node:fs'`
    expect(check({ 'src/app/a.ts': source })).toEqual([])
  })

  test('an undeclared package fails', () => {
    expect(check({ 'src/app/a.ts': `import '@scope/other/x'` })).toEqual([
      'src/app/a.ts:1 imports @scope/other/x: ' +
        'package @scope/other is not among the dependencies or peerDependencies of package.json',
    ])
  })

  test('a development dependency is for tests alone', () => {
    expect(check({ 'src/app/a.ts': `import 'vitest'`, 'src/app/a.test.ts': `import 'vitest'` })).toEqual([
      'src/app/a.ts:1 imports vitest: package vitest is not among the dependencies or peerDependencies of package.json',
    ])
  })

  test('a Node.js module in core fails, with and without its prefix', () => {
    expect(check({ 'src/core/a.ts': `import 'node:fs'\nimport type { Socket } from 'net'` })).toEqual([
      'src/core/a.ts:1 imports node:fs: layer core may not import Node.js modules',
      'src/core/a.ts:2 imports net: layer core may not import Node.js modules',
    ])
  })

  test('grpc may use Node.js, and nothing of the rest', () => {
    expect(check({ 'src/grpc/a.ts': `import 'node:net'\nimport '../core/b.ts'`, 'src/core/b.ts': '' })).toEqual([
      'src/grpc/a.ts:2 imports ../core/b.ts: layer grpc may not import layer core (allowed: none)',
    ])
  })

  test('the client uses neither Node.js nor the packages and sources of the service', () => {
    expect(
      check({
        'src/core/a.ts': '',
        'client/package.json': '{"name": "@sluice/client"}',
        'client/src/b.ts': `import 'node:fs'\nimport 'zod'\nimport '../../src/core/a.ts'`,
        'client/src/b.test.ts': `import 'vitest'`,
      }),
    ).toEqual([
      'client/src/b.ts:1 imports node:fs: package @sluice/client may not import Node.js modules',
      'client/src/b.ts:2 imports zod: package zod is not among the dependencies or peerDependencies of package.json',
      'client/src/b.ts:3 imports ../../src/core/a.ts: a source may import nothing outside of its src',
    ])
  })
})
