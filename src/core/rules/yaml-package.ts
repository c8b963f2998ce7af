import type { Alias, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { SluiceError } from '../errors.ts'
import { loadUnbundled } from '../load-unbundled.ts'

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

function load(name: string): unknown {
  try {
    return loadUnbundled(name)
  } catch (error) {
    throw new SluiceError('YAML_PACKAGE_MISSING', name, (error as Error).message.split('\n')[0])
  }
}

export const isAlias = (node: unknown): node is Alias => yamlPackage().isAlias(node)
export const isMap = (node: unknown): node is YAMLMap => yamlPackage().isMap(node)
export const isScalar = (node: unknown): node is Scalar => yamlPackage().isScalar(node)
export const isSeq = (node: unknown): node is YAMLSeq => yamlPackage().isSeq(node)
