import { SluiceError } from './errors.ts'
import { loadUnbundled } from './load-unbundled.ts'

/**
 * Loads an entry of this package for an option that most apps do not use: bundlers do not follow it, so that no bundle
 * has code that its app does not ask for. `advice` says how an app that is bundled brings the code in.
 */
export function loadEntry(name: string, advice: string): Readonly<Record<string, unknown>> {
  try {
    return loadUnbundled(name) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw new SluiceError(
      'ENTRY_NOT_BUNDLED',
      name,
      `the code for this option is not in the bundle (${(error as Error).message.split('\n')[0]})`,
      `In code that is bundled, ${advice}.`,
    )
  }
}
