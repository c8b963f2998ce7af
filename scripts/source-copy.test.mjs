import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../tests/servers/until.mjs'
import { SourceCopy } from './source-copy.mjs'
import { makeTree } from './temporary-tree.mjs'

const HANG = 'setInterval(() => {}, 1e6)'

function copyOf(dir) {
  const copy = new SourceCopy(dir)
  onTestFinished(() => copy.remove())
  return copy
}

function tree() {
  const dir = realpathSync(
    makeTree({
      'src/a.ts': 'a',
      'client/src/b.ts': 'b',
      'dist/a.js': 'built',
      'node_modules/zod/index.js': 'zod',
      'node_modules/@scope/parser/index.js': 'parser',
      'node_modules/.cache/build.json': 'notes',
      'node_modules/.package-lock.json': '{}',
    }),
  )
  mkdirSync(join(dir, 'node_modules/@own'))
  symlinkSync('../../client', join(dir, 'node_modules/@own/client'))
  return dir
}

test('a copy has the sources, but neither what was built nor notes of tools', () => {
  const { dir } = copyOf(tree())
  expect(readFileSync(join(dir, 'src/a.ts'), 'utf8')).toBe('a')
  expect(existsSync(join(dir, 'node_modules/.package-lock.json'))).toBe(true)
  expect(existsSync(join(dir, 'dist'))).toBe(false)
  expect(existsSync(join(dir, 'node_modules/.cache'))).toBe(false)
})

test('a copy shares the packages, but has its own workspaces', () => {
  const original = tree()
  const { dir } = copyOf(original)
  const place = (path) => realpathSync(join(dir, 'node_modules', path))
  expect(place('zod')).toBe(join(original, 'node_modules/zod'))
  expect(place('@scope/parser')).toBe(join(original, 'node_modules/@scope/parser'))
  expect(place('@own/client')).toBe(join(dir, 'client'))
})

test('a change of a copy changes nothing else, and its removal removes nothing else', () => {
  const original = tree()
  const copy = copyOf(original)
  writeFileSync(join(copy.dir, 'src/a.ts'), 'changed')
  copy.remove()
  expect(existsSync(copy.dir)).toBe(false)
  expect(readFileSync(join(original, 'src/a.ts'), 'utf8')).toBe('a')
  expect(readFileSync(join(original, 'node_modules/zod/index.js'), 'utf8')).toBe('zod')
})

test('a script runs in the copy, and reports how it ended', async () => {
  const copy = copyOf(tree())
  const script = 'console.log(process.cwd()); process.exitCode = 3'
  expect(await copy.node(['-e', script], 60_000)).toEqual({ code: 3, isLate: false, text: `${copy.dir}\n` })
})

test('a script that takes too long is killed', async () => {
  const { code, isLate } = await copyOf(tree()).node(['-e', HANG], 1)
  expect({ code, isLate }).toEqual({ code: null, isLate: true })
})

test('the removal of a copy ends what runs there, and what that has started', async () => {
  const copy = copyOf(tree())
  const start = `const { pid } = require('node:child_process').spawn(process.execPath, ['-e', '${HANG}'])`
  const running = copy.node(['-e', `${start}; require('node:fs').writeFileSync('pid', String(pid)); ${HANG}`], 60_000)
  const pid = () => Number(readFileSync(join(copy.dir, 'pid'), 'utf8'))
  await until('it has started another', () => existsSync(join(copy.dir, 'pid')) && pid() > 0)
  const started = pid()
  copy.remove()
  expect(await running).toMatchObject({ code: null, isLate: false })
  await until('the other has ended', () => !isRunning(started))
})

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
