import type { Request } from 'express'
import { Validations } from './validations.ts'

/** checkAddresses warns about proxies that are trusted without end, and about those that are not trusted at all. */
export function checkAddresses(request: Request): void {
  const warn = (mistake: unknown): void => process.emitWarning(String(mistake), 'SluiceWarning')
  const validations = new Validations(true, { error: warn, warn })
  validations.check('trustProxy', request)
  validations.check('xForwardedForHeader', request)
}
