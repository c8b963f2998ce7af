import type { Alias, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { SluiceError } from '../errors.ts'

/** The package `yaml`. */
export type YamlPackage = typeof import('yaml')

let loaded: YamlPackage | undefined

/**
 * Loads the package `yaml` when the first text is read: most apps never read one, and loading it takes longer than
 * loading the whole library. It is a require, because rules are read synchronously; bundlers do not follow it.
 */
export function yamlPackage(): YamlPackage {
  loaded ??= load('yaml') as YamlPackage
  return loaded
}

/** Asks Node.js for its module loader without an import, which a runtime that has no such modules would fail on. */
function load(name: string): unknown {
  try {
    const { createRequire } = process.getBuiltinModule('node:module')
    // In a bundle that is CommonJS, there may be no address of this file.
    const from: string | undefined = import.meta.url
    return createRequire(from ?? `${process.cwd()}/`)(name)
  } catch (error) {
    throw new SluiceError('YAML_PACKAGE_MISSING', name, (error as Error).message.split('\n')[0])
  }
}

export const isAlias = (node: unknown): node is Alias => yamlPackage().isAlias(node)
export const isMap = (node: unknown): node is YAMLMap => yamlPackage().isMap(node)
export const isScalar = (node: unknown): node is Scalar => yamlPackage().isScalar(node)
export const isSeq = (node: unknown): node is YAMLSeq => yamlPackage().isSeq(node)
