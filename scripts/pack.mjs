import { mkdirSync, readFileSync } from 'node:fs'
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
  const { name, version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'))
  const { ok, text } = await npm(['pack', packageDir, '--pack-destination', folder, '--ignore-scripts'], true)
  if (!ok) throw new SetupError(`npm pack failed:\n${text.trimEnd()}`)
  return join(folder, `${name}-${version}.tgz`)
}

async function main() {
  requireNode()
  await ensureInstalled()
  for (const tarball of await packAll(resolve(process.argv[2] ?? root))) say(tarball)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(main)
