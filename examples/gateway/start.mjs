// An app, and a gateway before it. Start both: npm run example:gateway
// PORT is where clients connect (8000); with REDIS_URL in the environment, several gateways count together.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listenApp } from './app.mjs'

const app = await listenApp()
const dir = mkdtempSync(join(tmpdir(), 'sluice-gateway-'))
const routes = join(dir, 'gateway.yaml')
const text = readFileSync(new URL('./gateway.yaml', import.meta.url), 'utf8')
writeFileSync(routes, text.replace('http://127.0.0.1:3000', app))

const command = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))
const { PORT = '8000', ADMIN_PORT = '8082', ...env } = process.env
const args = ['gateway', '--routes', routes, '--port', PORT, '--admin-port', ADMIN_PORT]
const gateway = spawn(process.execPath, [command, ...args], {
  env: { ...env, LOG_FORMAT: 'json' },
  stdio: ['ignore', 'pipe', 'inherit'],
})

let printed = ''
gateway.stdout.on('data', (chunk) => {
  printed += chunk
  const [, address] = /"gateway":"([^"]+)"/.exec(printed) ?? []
  if (address === undefined) return
  gateway.stdout.removeAllListeners('data').resume()
  console.log(`listening on http://${address}, before the app at ${app}. Try:

  curl -i http://${address}/
  curl -i http://${address}/login -d '{"email": "a@example.com", "password": "guess"}'     # four times
  curl -i http://${address}/v1/chat -d '{}'                                                # 120 tokens each
  for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{http_code} %{time_total}\\n' http://${address}/reports/$i & done; wait`)
})
gateway.on('exit', (code) => {
  rmSync(dir, { recursive: true, force: true })
  process.exit(code ?? 1)
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => gateway.kill(signal))
