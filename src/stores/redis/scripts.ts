import { createHash } from 'node:crypto'
import { LUA_TEXTS } from './lua-texts.ts'

/** A Script is a Lua script, and the SHA-1 by which a server that knows it runs it. */
export interface Script {
  readonly source: string
  readonly sha: string
}

/** A ScriptName is that of a file in lua/, which is the source of the texts. */
export type ScriptName = keyof typeof LUA_TEXTS

/** loadScript makes the script of lua/NAME.lua. A line `--- @include "other"` is replaced by that file. */
export function loadScript(name: ScriptName): Script {
  const source = textOf(name)
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

function textOf(name: ScriptName): string {
  return LUA_TEXTS[name].replace(/^--- @include "([a-z-]+)"$/gm, (_, included: ScriptName) => textOf(included))
}
