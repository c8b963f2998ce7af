import { COMPATIBILITIES, type Compatibility } from '../app/settings/compatibility.ts'
import type { FlagSpec, Flags } from '../app/settings/flags.ts'
import { choiceOf } from '../app/settings/setting-values.ts'

/** The flag of commands that show rules as a service would read them. */
export const COMPATIBILITY_FLAG = { flag: 'compatibility', value: 'SERVICE' } as const satisfies FlagSpec

/** Reads the flag, or the variable that the service would read. */
export function givenCompatibility(flags: Flags, env: NodeJS.ProcessEnv): Compatibility | undefined {
  const given = flags.last('compatibility')
  if (given !== undefined)
    return choiceOf({ values: [given], where: '--compatibility', source: 'flag' }, COMPATIBILITIES)
  const { SLUICE_COMPATIBILITY: variable = '' } = env
  if (variable === '') return undefined
  return choiceOf({ values: [variable], where: 'SLUICE_COMPATIBILITY', source: 'env' }, COMPATIBILITIES)
}
