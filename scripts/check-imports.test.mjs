import { describe, expect, test } from 'vitest'
import { checkImports, libraryLayers, serverLayers } from './check-imports.mjs'
import { makeTree } from './temporary-tree.mjs'

const manifest = JSON.stringify({
  name: 'sluice',
  dependencies: { zod: '1.0.0', '@scope/parser': '1.0.0' },
  peerDependencies: { express: '5.0.0' },
  devDependencies: { vitest: '1.0.0' },
})

const serverManifest = JSON.stringify({ name: 'sluice-server', devDependencies: { sluice: '1.0.0' } })

const check = (files) =>
  checkImports(makeTree({ 'package.json': manifest, 'server/package.json': serverManifest, ...files }))

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

  test('the table of a kind of record is of the layer of tables, wherever its folder is', () => {
    const server = (files) => check(Object.fromEntries(Object.entries(files).map(([f, t]) => [`server/src/${f}`, t])))
    const table = { 'admin/notes/table.ts': `import '../../records/field.ts'`, 'records/field.ts': '' }
    expect(server({ ...table, 'quotas/a.ts': `import '../admin/notes/table.ts'` })).toEqual([])
    expect(server({ 'admin/notes/table.ts': `import './operations.ts'`, 'admin/notes/operations.ts': '' })).toEqual([
      expect.stringContaining('layer records may not import layer admin'),
    ])
    expect(server({ 'quotas/a.ts': `import '../admin/notes/operations.ts'`, 'admin/notes/operations.ts': '' })).toEqual(
      [expect.stringContaining('layer quotas may not import layer admin')],
    )
  })

  test('the failure lists what the layer may import', () => {
    expect(check({ 'src/stores/a.ts': `import '../library/b.ts'`, 'src/library/b.ts': '' })).toEqual([
      'src/stores/a.ts:1 imports ../library/b.ts: layer stores may not import layer library (allowed: core, engine)',
    ])
  })

  test('every layer may import only layers that come before it', () => {
    const below = Object.keys(libraryLayers).map((name) => `sluice/${name}`)
    for (const [layers, others] of [
      [libraryLayers, []],
      [serverLayers, below],
    ]) {
      const names = Object.keys(layers)
      for (const [index, name] of names.entries()) {
        for (const allowed of layers[name]) expect([...others, ...names.slice(0, index)]).toContain(allowed)
      }
    }
  })

  test('a source in no layer fails', () => {
    expect(check({ 'src/utils/a.ts': '' })).toEqual([
      `src/utils/a.ts is in no layer (layers: ${Object.keys(libraryLayers).join(', ')})`,
    ])
  })

  test('the library may not import the service', () => {
    expect(check({ 'src/index.ts': `export * from '../server/src/app/a.ts'`, 'server/src/app/a.ts': '' })).toEqual([
      'src/index.ts:1 imports ../server/src/app/a.ts: a source may import nothing outside of its src',
    ])
  })

  test('the service imports the library by name, as its layers allow', () => {
    expect(
      check({
        'src/core/a.ts': '',
        'src/stores/b.ts': '',
        'server/src/app/c.ts': `import 'sluice/internal/stores/b'`,
        'server/src/edge/d.ts': `import 'sluice/internal/core/a'\nimport 'sluice/internal/stores/b'`,
        'server/src/edge/e.ts': `import 'sluice/internal/core/gone'\nimport '../../../src/core/a.ts'`,
        'server/src/edge/f.test.ts': `import 'sluice/internal/stores/b'`,
      }),
    ).toEqual([
      'server/src/edge/d.ts:2 imports sluice/internal/stores/b: layer edge may not import layer sluice/stores ' +
        `(allowed: ${serverLayers.edge.join(', ')})`,
      'server/src/edge/e.ts:1 imports sluice/internal/core/gone: there is no such file',
      'server/src/edge/e.ts:2 imports ../../../src/core/a.ts: a source may import nothing outside of its src',
    ])
  })

  test('no other code may', () => {
    expect(
      check({
        'src/core/a.ts': '',
        'client/package.json': '{"name": "sluice-client"}',
        'client/src/b.ts': `import 'sluice/internal/core/a'`,
      }),
    ).toEqual([
      'client/src/b.ts:1 imports sluice/internal/core/a: only a package that has sluice among its devDependencies may import its parts',
    ])
  })
})

describe('the dashboard', () => {
  const dashboard = { 'dashboard/package.json': '{"name": "@sluice/dashboard", "dependencies": {"preact": "1.0.0"}}' }

  test('imports its packages, its files and the core of the library', () => {
    expect(
      check({
        ...dashboard,
        'src/core/a.ts': '',
        'dashboard/src/a.css': '',
        'dashboard/src/b.tsx': `import { useState } from 'preact/hooks'\nimport './a.css'\nimport 'sluice/internal/core/a'`,
      }),
    ).toEqual([])
  })

  test('imports nothing else, in files with markup either', () => {
    expect(
      check({
        ...dashboard,
        'src/core/a.ts': '',
        'src/engine/b.ts': '',
        'dashboard/src/c.tsx': [
          `import 'node:fs'`,
          `import 'react'`,
          `import 'sluice'`,
          `import 'sluice/internal/engine/b'`,
          `import '../../src/core/a.ts'`,
          `import './gone.css'`,
          `export const C = () => <p title="it's">That isn't // an import from 'x'</p>`,
          `export const d = () => import('sluice/internal/core/gone')`,
        ].join('\n'),
        'dashboard/src/e.ts': `import './c.tsx'\nimport './f.test.tsx'`,
        'dashboard/src/f.test.tsx': `import 'sluice/internal/engine/b'`,
      }),
    ).toEqual([
      'dashboard/src/c.tsx:1 imports node:fs: package @sluice/dashboard may not import Node.js modules',
      'dashboard/src/c.tsx:2 imports react: package react is not among the dependencies or peerDependencies of package.json',
      'dashboard/src/c.tsx:3 imports sluice: package sluice is not among the dependencies or peerDependencies of package.json',
      'dashboard/src/c.tsx:4 imports sluice/internal/engine/b: package @sluice/dashboard may build in only core of sluice',
      'dashboard/src/c.tsx:5 imports ../../src/core/a.ts: a source may import nothing outside of its src',
      'dashboard/src/c.tsx:6 imports ./gone.css: there is no such file',
      'dashboard/src/c.tsx:8 imports sluice/internal/core/gone: there is no such file',
      'dashboard/src/e.ts:2 imports ./f.test.tsx: only tests may import tests, which are not part of the build',
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

describe('cycles of folders', () => {
  test('two folders that import each other fail, though no file imports itself', () => {
    expect(
      check({
        'src/stores/memory/a.ts': `import '../leased/b.ts'`,
        'src/stores/memory/c.ts': '',
        'src/stores/leased/b.ts': '',
        'src/stores/leased/d.ts': `import type { C } from '../memory/c.ts'`,
      }),
    ).toEqual([
      'cycle of folders: src/stores/leased → src/stores/memory → src/stores/leased ' +
        '(src/stores/leased/d.ts imports src/stores/memory/c.ts, src/stores/memory/a.ts imports src/stores/leased/b.ts)',
    ])
  })

  test('a folder and one inside of it are two', () => {
    const files = { 'src/core/a.ts': `import './rules/b.ts'`, 'src/core/rules/b.ts': '', 'src/core/c.ts': '' }
    expect(check(files)).toEqual([])
    expect(check({ ...files, 'src/core/rules/d.ts': `import '../c.ts'` })).toEqual([
      'cycle of folders: src/core → src/core/rules → src/core ' +
        '(src/core/a.ts imports src/core/rules/b.ts, src/core/rules/d.ts imports src/core/c.ts)',
    ])
  })

  test('a way through three folders fails', () => {
    expect(
      check({
        'src/core/a/a.ts': `import '../b/b.ts'`,
        'src/core/b/b.ts': '',
        'src/core/b/other.ts': `import '../c/c.ts'`,
        'src/core/c/c.ts': '',
        'src/core/c/other.ts': `import '../a/other.ts'`,
        'src/core/a/other.ts': '',
      }),
    ).toEqual([expect.stringMatching(/^cycle of folders: src\/core\/a → src\/core\/b → src\/core\/c → src\/core\/a /)])
  })

  test('tests make no cycle', () => {
    expect(
      check({
        'src/stores/memory/a.ts': `import '../lending/b.ts'`,
        'src/stores/lending/b.ts': '',
        'src/stores/lending/b.test.ts': `import '../memory/a.ts'`,
        'src/stores/lending/b.suite.ts': `import '../memory/a.ts'`,
      }),
    ).toEqual([])
  })
})

describe('packages', () => {
  test('declared packages, their subpaths and Node.js modules pass', () => {
    const source = `import 'zod'\nimport 'zod/mini'\nimport '@scope/parser/x'\nimport 'express'\nimport 'node:fs'`
    expect(check({ 'src/library/a.ts': source })).toEqual([])
  })

  test('an undeclared package fails', () => {
    expect(check({ 'src/library/a.ts': `import '@scope/other/x'` })).toEqual([
      'src/library/a.ts:1 imports @scope/other/x: ' +
        'package @scope/other is not among the dependencies or peerDependencies of package.json',
    ])
  })

  test('a development dependency is for tests alone', () => {
    expect(check({ 'src/stores/a.ts': `import 'vitest'`, 'src/stores/a.test.ts': `import 'vitest'` })).toEqual([
      'src/stores/a.ts:1 imports vitest: package vitest is not among the dependencies or peerDependencies of package.json',
    ])
  })

  test('a Node.js module in core fails, with and without its prefix', () => {
    expect(check({ 'src/core/a.ts': `import 'node:fs'\nimport type { Socket } from 'net'` })).toEqual([
      'src/core/a.ts:1 imports node:fs: layer core may not import Node.js modules',
      'src/core/a.ts:2 imports net: layer core may not import Node.js modules',
    ])
  })

  test('grpc may use Node.js and net, and nothing of the rest', () => {
    const source = `import 'node:net'\nimport 'sluice/internal/core/b'\nimport '../net/c.ts'`
    expect(check({ 'server/src/grpc/a.ts': source, 'server/src/net/c.ts': '', 'src/core/b.ts': '' })).toEqual([
      'server/src/grpc/a.ts:2 imports sluice/internal/core/b: ' +
        'layer grpc may not import layer sluice/core (allowed: net)',
    ])
  })

  test('the client uses neither Node.js nor the packages and sources of the service', () => {
    expect(
      check({
        'src/core/a.ts': '',
        'client/package.json': '{"name": "sluice-client"}',
        'client/src/b.ts': `import 'node:fs'\nimport 'zod'\nimport '../../src/core/a.ts'`,
        'client/src/b.test.ts': `import 'vitest'`,
      }),
    ).toEqual([
      'client/src/b.ts:1 imports node:fs: package sluice-client may not import Node.js modules',
      'client/src/b.ts:2 imports zod: package zod is not among the dependencies or peerDependencies of package.json',
      'client/src/b.ts:3 imports ../../src/core/a.ts: a source may import nothing outside of its src',
    ])
  })
})
