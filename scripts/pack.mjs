import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuilt } from './build.mjs'
import { ensureInstalled, npm, requireNode, root, runMain, SetupError, say } from './setup.mjs'

// npm run pack [-- FOLDER]
// Builds, and packs what is published. `npm pack` alone would not build: .npmrc forbids scripts of packages, ours too.
const packageDirs = ['', 'server', 'client']

/** Builds and packs the packages into a folder, and returns the paths of the tarballs. */
export async function packAll(folder) {
  await ensureBuilt()
  mkdirSync(folder, { recursive: true })
  const tarballs = []
  for (const dir of packageDirs) tarballs.push(await packOne(join(root, dir), folder))
  return tarballs
}

async function packOne(packageDir, folder) {
  const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'))
  const staged = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
  try {
    for (const path of [...manifest.files, 'README.md', 'LICENSE']) {
      if (existsSync(join(packageDir, path))) cpSync(join(packageDir, path), join(staged, path), { recursive: true })
    }
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(published(manifest), null, 2)}\n`)
    const { ok, text } = await npm(['pack', staged, '--pack-destination', folder, '--ignore-scripts'], true)
    if (!ok) throw new SetupError(`npm pack failed:\n${text.trimEnd()}`)
  } finally {
    rmSync(staged, { recursive: true })
  }
  return join(folder, `${manifest.name}-${manifest.version}.tgz`)
}

/** published leaves out of a manifest what is for work on the repository: its parts have no names outside of it. */
function published({ scripts, devDependencies, workspaces, overrides, ...manifest }) {
  const exported = Object.entries(manifest.exports).filter(([name]) => name !== './internal/*')
  return { ...manifest, exports: Object.fromEntries(exported) }
}

async function main() {
  requireNode()
  await ensureInstalled()
  for (const tarball of await packAll(resolve(process.argv[2] ?? root))) say(tarball)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
