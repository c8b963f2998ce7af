import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { logTo } from '../log/log.ts'
import { readGatewayConfig } from '../settings/gateway-settings.ts'
import { startService } from '../wire.ts'

/** Starts an app for one test, and returns its address. */
export async function startApp(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Writes a routes file for one test, and returns its path and how it is changed. */
export function routesFile(text: string) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-routes-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'gateway.yaml')
  writeFileSync(file, text)
  return { file, change: (other: string) => writeFileSync(file, other) }
}

const PORTS = ['--port', '0', '--host', '127.0.0.1', '--admin-port', '0', '--hot-keys', 'off']

/** Runs a gateway in this process for one test, as the command does. */
export async function startGateway(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const lines: string[] = []
  const log = logTo(({ level, event, message }) => lines.push(`${level} ${event}: ${message}`))
  const service = await startService(readGatewayConfig([...PORTS, ...args], env), log)
  onTestFinished(() => service.close())
  return { service, url: `http://${service.addresses.gateway}`, admin: `http://${service.addresses.admin}`, lines }
}

/** Runs a gateway with a routes file, in which APP stands for the address of the app. */
export async function startRoutes(text: string, listener: RequestListener, args: readonly string[] = []) {
  const app = await startApp(listener)
  const { file, change } = routesFile(text.replaceAll('APP', app))
  const running = await startGateway(['--routes', file, ...args])
  return { ...running, app, change: (other: string) => change(other.replaceAll('APP', app)) }
}

/** Those of requests that are sent one after the other. */
export async function statuses(count: number, send: () => Promise<Response>): Promise<readonly number[]> {
  const found: number[] = []
  for (let i = 0; i < count; i++) {
    const response = await send()
    await response.arrayBuffer()
    found.push(response.status)
  }
  return found
}
