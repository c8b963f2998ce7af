import { createRequire } from 'node:module'
import type { createClient, RedisFunctions, RedisModules, RedisScripts } from '@redis/client'
import { SluiceError } from '../../core/errors.ts'
import type { ClientOptions } from './client-options.ts'

/** A PackageClient is a client of the package, for RESP 2. */
export type PackageClient = ReturnType<typeof createClient<RedisModules, RedisFunctions, RedisScripts, 2>>

/** A RedisPackage is what is used of the package `@redis/client`, or of `redis`, which has the same in it. */
export interface RedisPackage {
  createClient(options: ClientOptions): PackageClient
}

type Require = (id: string) => unknown

/** An app that counts in memory, or has a client of its own, may have neither, or an old one. */
const NAMES = ['@redis/client', 'redis'] as const
const OLDEST = 5

/**
 * requireRedisPackage throws when there is no package to connect with, so that an app learns it at the start. Nothing is
 * loaded. In a bundle there is no telling: the package may be part of it.
 */
export function requireRedisPackage(
  from: string | undefined = import.meta.url,
  requireFrom: (from: string) => Require = createRequire,
): void {
  if (from === undefined || !/\/redis-package\.[jt]s$/.test(from)) return
  const require = requireFrom(from)
  const versions = NAMES.map((name) => versionOf(require, name)).filter((version) => version !== undefined)
  if (versions.length === 0) throw unusable('neither is installed')
  if (!versions.some((version) => Number.parseInt(version, 10) >= OLDEST)) throw unusable(`found ${versions[0]}`)
}

let loading: Promise<RedisPackage> | undefined

/** loadRedisPackage loads the package that is installed, once. */
export function loadRedisPackage(): Promise<RedisPackage> {
  loading ??= load()
  return loading
}

/** load names each package in an import within a `try`: so bundlers see it, and do not mind when it is not there. */
async function load(): Promise<RedisPackage> {
  try {
    return checked(await import('@redis/client'))
  } catch (error) {
    throwUnlessAbsent(error)
  }
  try {
    // @ts-expect-error: it is not installed here
    return checked(await import('redis'))
  } catch (error) {
    throwUnlessAbsent(error)
  }
  throw unusable('neither is installed')
}

/** throwUnlessAbsent passes on what is wrong with a package that is there: that is to be repaired, not to be avoided. */
function throwUnlessAbsent(error: unknown): void {
  const { code } = error as { readonly code?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error
}

/** checked returns the package, whose names a bundle may have left under `default`. Older ones have no RESP_TYPES. */
function checked(imported: object): RedisPackage {
  const { default: all } = imported as { readonly default?: object }
  const names = 'createClient' in imported ? imported : (all ?? {})
  if (!('RESP_TYPES' in names)) throw unusable(`found one older than ${OLDEST}`)
  return names as unknown as RedisPackage
}

/** destroy lets go of a client's socket and timers. Version 5 throws where it is closed already. */
export function destroy(client: Pick<PackageClient, 'destroy'>): void {
  try {
    client.destroy()
  } catch {
    // It has nothing more to let go of.
  }
}

/** versionOf is undefined when a package is not there, and the oldest that will do when it does not tell. */
function versionOf(require: Require, name: string): string | undefined {
  try {
    return (require(`${name}/package.json`) as { readonly version: string }).version
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    return code === 'MODULE_NOT_FOUND' ? undefined : String(OLDEST)
  }
}

function unusable(detail: string): SluiceError {
  return new SluiceError('REDIS_PACKAGE_MISSING', 'redis', detail)
}
