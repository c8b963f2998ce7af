import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Writes files, given as {path: text}, into a new directory that lasts until the running test ends. */
export function makeTree(files) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  addFiles(dir, files)
  return dir
}

/** Writes more files into such a directory. */
export function addFiles(dir, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
}
