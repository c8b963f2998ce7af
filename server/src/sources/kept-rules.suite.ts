import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { KeptRules } from './kept-rules.ts'

/** Makes a directory of kept rules that lasts as long as the test. */
export function keptIn(): { readonly kept: KeptRules; readonly dir: string } {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-kept-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return { kept: new KeptRules(dir), dir }
}
