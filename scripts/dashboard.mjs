import { join } from 'node:path'

/** dashboardOutputs are the files of the built dashboard that have a fixed name. */
export function dashboardOutputs(root) {
  return [join(root, 'server', 'dist', 'dashboard', 'index.html')]
}

/** writeDashboard builds the pages that the admin port serves. */
export async function writeDashboard(root) {
  // Not there before the first installation.
  const { build } = await import('vite')
  await build({ configFile: join(root, 'dashboard', 'vite.config.ts'), logLevel: 'warn' })
}
