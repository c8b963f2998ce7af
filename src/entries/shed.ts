import { shedCode } from '../http-door/shed-code.ts'
import type { ShedOptions, ShedPlace } from '../http-door/shed-options.ts'

export { SluiceError } from '../core/errors.ts'
export type { ShedOptions, ShedPlace }

/** @internal For middleware that sheds where nothing is bundled. */
export const code: object = shedCode()

/**
 * Names how requests are shed together with the code for it, which bundlers follow. Where nothing is bundled, the
 * options alone, or true, do the same.
 *
 *   rateLimit({ limit: 100, window: '1m', shed: shed({ delay: '30ms' }) })
 */
export function shed<R = never>(options: ShedOptions<R> | true = true): ShedPlace<R> {
  return { options, code }
}
