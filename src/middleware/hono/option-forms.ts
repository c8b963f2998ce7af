import { type FormsOf, FUNCTION, TEXT } from '../../core/option-forms.ts'
import { GATE_FORMS } from '../../http-door/gate.ts'
import type { PlainOptions } from './options.ts'

export const PLAIN_FORMS: FormsOf<PlainOptions> = {
  ...GATE_FORMS,
  handler: FUNCTION,
  requestPropertyName: TEXT,
  getConnInfo: FUNCTION,
}
