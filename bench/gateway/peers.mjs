import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { npm } from '../../scripts/setup.mjs'

/** Where the proxies of others are installed. */
export const peersFolder = fileURLToPath(new URL('./peers', import.meta.url))

/** Installs what is in peers/package-lock.json, once. Only the first time needs the registry. */
export async function installPeers() {
  if (existsSync(`${peersFolder}/node_modules/undici`)) return
  const { ok, text } = await npm(['ci', '--prefix', peersFolder, '--workspaces=false', '--prefer-offline'], true)
  if (!ok) throw new Error(`installing the other proxies failed:\n${text}`)
}

/** Says which versions there are. */
export function peerVersions() {
  const { dependencies } = JSON.parse(readFileSync(`${peersFolder}/package.json`, 'utf8'))
  return Object.entries(dependencies).map(([name, version]) => `${name} ${version}`)
}
