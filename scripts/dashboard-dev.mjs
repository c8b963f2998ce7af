import { join } from 'node:path'
import { ensureInstalled, requireNode, root, runMain, say } from './setup.mjs'

// npm run dashboard
// Serves the sources of the dashboard, which change in the browser as they are saved, with the API of a service that runs:
// that of SLUICE_ADMIN, or of http://localhost:8082.

await runMain(async () => {
  requireNode()
  await ensureInstalled()
  const { createServer } = await import('vite')
  const server = await createServer({ configFile: join(root, 'dashboard', 'vite.config.ts') })
  await server.listen()
  server.printUrls()
  say(`the API is that of ${process.env.SLUICE_ADMIN ?? 'http://localhost:8082'}; "npm start" runs one`)
})
