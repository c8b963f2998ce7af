import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { packAll } from '../../scripts/pack.mjs'

const execute = promisify(execFile)

/** The packages as they are published, unpacked: the folders of `sluice`, `sluice-server` and `sluice-client`. */
export interface Packed {
  readonly library: string
  readonly server: string
  readonly client: string
}

/** Packs the packages, and unpacks them. `remove` removes them again. */
export async function packAndUnpack(): Promise<{ packed: Packed; remove(): void }> {
  const folder = cleanFolder()
  const [library, server, client] = await packAll(folder)
  const unpack = async (tarball: string, name: string): Promise<string> => {
    mkdirSync(join(folder, name))
    await execute('tar', ['-xzf', tarball, '-C', join(folder, name), '--strip-components=1'])
    return join(folder, name)
  }
  const packed = {
    library: await unpack(library, 'library'),
    server: await unpack(server, 'server'),
    client: await unpack(client, 'client'),
  }
  return { packed, remove: () => rmSync(folder, { recursive: true }) }
}

/** Makes a folder that has no packages above it: what a project did not install, it must not find. */
export function cleanFolder(): string {
  const parent = [tmpdir(), '/var/tmp', homedir()].find((each) => existsSync(each) && !seesPackages(each))
  if (parent === undefined) throw new Error(`there is a node_modules in ${tmpdir()} or above it; remove it`)
  return mkdtempSync(join(parent, 'sluice-project-'))
}

function seesPackages(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules'))) return true
  const parent = dirname(folder)
  return parent !== folder && seesPackages(parent)
}
