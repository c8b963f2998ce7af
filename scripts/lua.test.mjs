import { readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bareLua, luaModule, writeLuaModules } from './lua.mjs'
import { makeTree } from './temporary-tree.mjs'

test('a module has each file under its name, as JavaScript reads it back', async () => {
  const text = `local a = "\`\${b}\`\\n" -- kept\n`
  const module = luaModule([
    ['add', text],
    ['take-1', 'return 1\n'],
  ])
  const { LUA_TEXTS } = await import(`data:text/javascript,${encodeURIComponent(module.replace(' as const', ''))}`)
  expect(LUA_TEXTS).toEqual({ add: text.trim(), 'take-1': 'return 1' })
})

test('comments, indentation and empty lines are left out; includes are not', () => {
  const text = '-- add: adds\n-- KEYS[1]\n\n--- @include "other"\nif a then\n  -- why\n  b = 1 -- one\nend\n'
  expect(bareLua('add', text)).toBe('--- @include "other"\nif a then\nb = 1 -- one\nend')
})

test('a text of several lines is refused', () => {
  expect(() => bareLua('add', 'local a = [[\n-- text\n]]')).toThrow('add.lua has a long bracket; write it otherwise')
})

test('a module is written when a file changed, and only then', () => {
  const dir = makeTree({ 'src/stores/redis/scripts/lua/add.lua': 'return 1\n' })
  const path = join(dir, 'src/stores/redis/scripts/lua-texts.ts')
  writeLuaModules(dir)
  expect(readFileSync(path, 'utf8')).toContain('  add: `return 1`,\n')
  utimesSync(path, 1, 1)
  writeLuaModules(dir)
  expect(statSync(path).mtimeMs).toBe(1_000)
})
