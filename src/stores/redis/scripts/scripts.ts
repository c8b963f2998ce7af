import { createHash } from 'node:crypto'
import { LUA_TEXTS } from './lua-texts.ts'

/** A Lua script, and the SHA-1 by which a server that knows it runs it. */
export interface Script {
  readonly source: string
  readonly sha: string
  /**
   * The same as a function of the server, which defines it once and not with every call (Redis and Valkey 7 and newer).
   */
  readonly asFunction: ServerFunction | undefined
}

/** The only function of a library. Both are named by what they do, so that versions live side by side. */
export interface ServerFunction {
  readonly name: string
  readonly library: string
}

/** That of a file in lua/, which is the source of the texts. */
export type ScriptName = keyof typeof LUA_TEXTS

/** The last line of a script that can be a function. All before it are definitions. */
const RUN = /\nreturn define\(\)\(KEYS, ARGV\)$/
const NAME_DIGITS = 16

/** What a function is allowed to do that others are not. Servers refuse one that they do not know. */
export type FunctionFlag = 'allow-cross-slot-keys'

/**
 * Makes the script of lua/NAME.lua, with flags for where it is a function. A line `--- @include "other"` is replaced by
 * that file.
 */
export function loadScript(name: ScriptName, flags: readonly FunctionFlag[] = []): Script {
  const source = textOf(name)
  const sha = createHash('sha1').update(source).digest('hex')
  const functionName = `sluice_${name.replace('-', '_')}_${sha.slice(0, NAME_DIGITS)}`
  const script = { source, sha, asFunction: functionOf(functionName, source, flags) }
  LOADED.set(sha, script)
  return script
}

const LOADED = new Map<string, Script>()

/** Returns the script of a hash. */
export function scriptOf(sha: string): Script {
  const script = LOADED.get(sha)
  if (script === undefined) throw new TypeError(`no script was loaded whose hash is ${sha}`)
  return script
}

function textOf(name: ScriptName): string {
  return LUA_TEXTS[name].replace(/^--- @include "([a-z-]+)"$/gm, (_, included: ScriptName) => textOf(included))
}

function functionOf(name: string, source: string, flags: readonly FunctionFlag[]): ServerFunction | undefined {
  if (!RUN.test(source)) return undefined
  const definitions = source.replace(RUN, '')
  const registration = `register{function_name='${name}', callback=define(), flags={${flags.map((flag) => `'${flag}'`).join()}}}`
  return {
    name,
    library: `#!lua name=${name}\nlocal register = redis.register_function\nlocal KEYS, ARGV\n${definitions}\n${registration}\n`,
  }
}
