import { SHED_CODE, type ShedCode } from './gate-shedder.ts'

/** Returns the code that sheds. In the packed library, shed-code.packed.ts takes the place of this file. */
export function shedCode(): ShedCode {
  return SHED_CODE
}
