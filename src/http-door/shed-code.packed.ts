import { loadEntry } from '../core/load-entry.ts'
import type { ShedCode } from './gate-shedder.ts'

/** Loads the code that sheds, where nothing is bundled. */
export function shedCode(): ShedCode {
  const { code } = loadEntry('sluice/shed', "import { shed } from 'sluice/shed' and pass shed(…) with the same options")
  return code as ShedCode
}
