import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './setup.mjs'

/** Folders of sources with Lua in a subfolder `lua`; the module `lua-texts.ts` is written next to it. */
const folders = ['src/stores/redis/scripts', 'src/compat/hono-rate-limiter']

/**
 * Writes the Lua files into modules, so that the package and a bundle of it are JavaScript alone. The build and the
 * test runner call it; what is up to date is left alone.
 */
export function writeLuaModules(dir = root) {
  for (const folder of folders) {
    const path = join(dir, folder, 'lua-texts.ts')
    if (!existsSync(join(dir, folder, 'lua'))) continue
    const module = luaModule(readLua(join(dir, folder, 'lua')))
    if (!existsSync(path) || readFileSync(path, 'utf8') !== module) writeFileSync(path, module)
  }
}

function readLua(dir) {
  const names = readdirSync(dir).filter((file) => file.endsWith('.lua'))
  return names.sort().map((file) => [file.slice(0, -'.lua'.length), readFileSync(join(dir, file), 'utf8')])
}

/** Returns the text of a module that exports the Lua texts by name. */
export function luaModule(texts) {
  const members = texts.map(([name, text]) => `  ${propertyName(name)}: \`${escaped(bareLua(name, text))}\`,\n`)
  return [
    '// Written by scripts/lua.mjs from the files in lua/, without their comments and indentation.\n',
    `export const LUA_TEXTS = {\n${members.join('')}} as const\n`,
  ].join('')
}

/** Leaves out what only people read: a third of every script that is sent and kept. Includes stay. */
export function bareLua(name, text) {
  // In a text of several lines, what looks like a comment may be none.
  if (text.includes('[[') || text.includes('[=')) throw new Error(`${name}.lua has a long bracket; write it otherwise`)
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '' && (!line.startsWith('--') || line.startsWith('--- @include'))).join('\n')
}

const propertyName = (name) => (/^\w+$/.test(name) ? name : `'${name}'`)
const escaped = (text) => text.replace(/[\\`]|\$\{/g, '\\$&')

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) writeLuaModules()
