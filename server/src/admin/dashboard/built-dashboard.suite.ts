import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { packFiles } from '../../../../scripts/dashboard.mjs'

export const PAGE = `<!doctype html><title>Sluice</title><script type="module" src="/assets/index-1.js"></script>${'<p>'.repeat(50)}`
export const CODE = 'export const figures = [1, 2, 3]\n'.repeat(50)

/** A BuiltDashboard is a folder as the build leaves it. It is removed with the test. */
export interface BuiltDashboard {
  readonly path: string
  folder(): URL
  /** build writes files in place of those before. */
  build(files: Readonly<Record<string, string | Buffer>>): Promise<void>
}

/** builtDashboard builds a small dashboard, or the files that it is given. */
export async function builtDashboard(
  files: Readonly<Record<string, string | Buffer>> = {
    'index.html': PAGE,
    'assets/index-1.js': CODE,
    'assets/index-1.css': 'p { color: inherit }\n'.repeat(50),
    'assets/icon-1.svg': '<svg/>',
  },
): Promise<BuiltDashboard> {
  const path = mkdtempSync(join(tmpdir(), 'sluice-dashboard-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  const build = async (more: Readonly<Record<string, string | Buffer>>): Promise<void> => {
    rmSync(path, { recursive: true })
    mkdirSync(path)
    for (const [name, content] of Object.entries(more)) {
      mkdirSync(dirname(join(path, name)), { recursive: true })
      writeFileSync(join(path, name), content)
    }
    await packFiles(path)
  }
  await build(files)
  return { path, build, folder: () => pathToFileURL(`${path}/`) }
}
