import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dashboardFingerprint, plannedOutputs, removeOrphans, sourceFingerprint } from './build.mjs'
import { addFiles, makeTree } from './temporary-tree.mjs'

const settings = {
  'package-lock.json': '{}',
  'package.json': '{}',
  'client/package.json': '{}',
  'scripts/bundle.mjs': '',
  'scripts/declarations.mjs': '',
  'scripts/entries.mjs': '',
  'tsconfig.json': '{}',
  'tsconfig.build.json': '{}',
  'server/tsconfig.build.json': '{}',
  'client/tsconfig.build.json': '{}',
  'dashboard/index.html': '',
  'dashboard/vite.config.ts': '',
}

test('dist gets the compiled sources and the files that are not code, but no tests and no Lua', () => {
  const dir = makeTree({
    'src/a.ts': '',
    'src/a.test.ts': '',
    'src/stores/store.suite.ts': '',
    'src/stores/lua/check.lua': '',
    'src/stores/tables.sql': '',
  })
  expect([...plannedOutputs(dir).keys()]).toEqual([join(dir, 'dist/a.js'), join(dir, 'dist/stores/tables.sql')])
})

test('what was built from a source that is gone is removed', () => {
  const dir = makeTree({ 'src/a.ts': '', 'src/a.sql': '' })
  const kept = ['dist/a.js', 'dist/a.d.ts', 'dist/a.sql', 'dist/bundle/c.js', 'dist/dashboard/assets/d.js']
  const orphans = [...kept.slice(0, 3).map((path) => path.replace('a.', 'b.')), 'dist/a.js.map', 'dist/a.d.ts.map']
  addFiles(dir, Object.fromEntries([...kept, ...orphans].map((path) => [path, ''])))
  removeOrphans(dir)
  expect(kept.filter((path) => !existsSync(join(dir, path)))).toEqual([])
  expect(orphans.filter((path) => existsSync(join(dir, path)))).toEqual([])
})

test('the fingerprint changes with a source, a new source and a compiler option, and only then', () => {
  const dir = makeTree({ ...settings, 'src/a.ts': '' })
  const seen = [sourceFingerprint(dir)]
  expect(sourceFingerprint(dir)).toBe(seen[0])
  utimesSync(join(dir, 'src/a.ts'), 1, 1)
  seen.push(sourceFingerprint(dir))
  addFiles(dir, { 'client/src/b.ts': '' })
  seen.push(sourceFingerprint(dir))
  utimesSync(join(dir, 'tsconfig.json'), 1, 1)
  seen.push(sourceFingerprint(dir))
  addFiles(dir, { 'dashboard/src/api/operations.ts': 'as the build writes it' })
  expect(sourceFingerprint(dir)).toBe(seen.at(-1))
  expect(new Set(seen).size).toBe(4)
})

test('the fingerprint of the dashboard changes with what it is made of, and with nothing else', () => {
  const dir = makeTree({ ...settings, 'dashboard/src/a.tsx': '', 'src/core/b.ts': '', 'src/engine/c.ts': '' })
  const seen = [dashboardFingerprint(dir)]
  addFiles(dir, { 'dashboard/src/a.test.ts': '', 'server/src/d.ts': '' })
  utimesSync(join(dir, 'src/engine/c.ts'), 1, 1)
  expect(dashboardFingerprint(dir)).toBe(seen[0])
  for (const path of ['dashboard/src/a.tsx', 'src/core/b.ts', 'dashboard/vite.config.ts', 'package-lock.json']) {
    utimesSync(join(dir, path), 1, 1)
    seen.push(dashboardFingerprint(dir))
  }
  expect(new Set(seen).size).toBe(5)
})
