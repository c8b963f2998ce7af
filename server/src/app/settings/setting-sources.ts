import { readConfigFile } from './config-file.ts'
import { ENVOY_SETTINGS } from './envoy-settings.ts'
import type { Flags } from './flags.ts'
import { type Given, lastOf, READERS } from './setting-values.ts'
import { SETTINGS, type SettingName, type SettingOf, type SettingSpec } from './settings.ts'

type Env = NodeJS.ProcessEnv

/** What reading a setting returns. Without a default, one that is not given is undefined. */
export type SettingValue<N extends SettingName> =
  | (SettingOf<N> extends { choices: readonly (infer C)[] }
      ? C
      : ReturnType<(typeof READERS)[Exclude<SettingOf<N>['kind'], 'choice'>]>)
  | (SettingOf<N> extends { default: string } | { kind: 'switch' } ? never : undefined)

/** Where settings come from: the command line before the environment before the config file. */
export class SettingSources {
  readonly #flags: Flags
  readonly #env: Env
  readonly #file: ReadonlyMap<string, Given>

  constructor(flags: Flags, env: Env) {
    this.#flags = flags
    this.#env = env
    this.#file = new Map()
    const file = this.given('config')
    if (file !== undefined) this.#file = readConfigFile(lastOf(file))
  }

  /** Returns what a setting was set to. An empty variable counts as not set. */
  given(name: SettingName): Given | undefined {
    if (this.#flags.has(name)) return { values: this.#flags.all(name), where: `--${name}`, source: 'flag' }
    for (const variable of variablesOf(name)) {
      const value = this.#env[variable]
      if (value !== undefined && value !== '') return { values: [value], where: variable, source: 'env' }
    }
    return this.#file.get(name)
  }

  /** Reads a setting as its kind, or its default. */
  value<N extends SettingName>(name: N): SettingValue<N> {
    const spec: SettingSpec = SPECS.get(name) as SettingSpec
    const given = this.given(name) ?? defaultOf(spec)
    const value = given === undefined ? undefined : READERS[spec.kind](given, spec.choices ?? [])
    return (value ?? (spec.kind === 'switch' ? false : undefined)) as SettingValue<N>
  }
}

const SPECS: ReadonlyMap<string, SettingSpec> = new Map(SETTINGS.map((spec) => [spec.flag, spec]))

function defaultOf({ flag, default: usual }: SettingSpec): Given | undefined {
  return usual === undefined ? undefined : { values: [usual], where: `--${flag}`, source: 'flag' }
}

const VARIABLES: ReadonlyMap<string, readonly string[]> = new Map(
  SETTINGS.map(({ flag, env, alias }: SettingSpec) => {
    const others = ENVOY_SETTINGS.filter(({ sets, name }) => sets === flag && name !== env)
    return [flag, [env, ...(alias === undefined ? [] : [alias]), ...others.map(({ name }) => name)]]
  }),
)

/** Returns the variables of a setting: ours, its alias, then the one of envoyproxy/ratelimit. */
export function variablesOf(name: SettingName): readonly string[] {
  return VARIABLES.get(name) ?? []
}
