import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A Script is a Lua script, and the SHA-1 by which a server that knows it runs it. */
export interface Script {
  readonly source: string
  readonly sha: string
}

/** loadScript reads lua/NAME.lua. A line `--- @include "other"` is replaced by that file. */
export function loadScript(name: string): Script {
  const source = read(name)
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

function read(name: string): string {
  const text = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')
  return text.replace(/^--- @include "([a-z-]+)"$/gm, (_, included: string) => read(included))
}
