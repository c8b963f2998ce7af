import { checkOptions } from '../core/check-options.ts'
import { SluiceError } from '../core/errors.ts'
import type { Forms } from '../core/option-forms.ts'

/** What only our own options have: given to a compatible entry, half of a mixture would be ignored. */
const NATIVE = ['window', 'calendar', 'algorithm', 'limits', 'rules'] as const

/** Rejects Sluice options in an entry that takes another library's options; `entry` is where they belong. */
export function refuseNativeOptions(options: object, forms: Forms, entry: string): void {
  const native = NATIVE.find((name) => Object.hasOwn(options, name) && !Object.hasOwn(forms, name))
  if (native !== undefined)
    throw new SluiceError('OPTION_UNKNOWN', native, `an option of ${entry}: import that instead`)
}

/** Holds options of another library to their names and values. */
export function checkOtherOptions(options: object, forms: Forms, entry: string): void {
  refuseNativeOptions(options, forms, entry)
  checkOptions(options, forms)
}
