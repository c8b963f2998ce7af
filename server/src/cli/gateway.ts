import { readGatewayConfig } from '../app/settings/gateway-settings.ts'
import { run } from './serve.ts'

/** Runs a reverse proxy with the limiter in it until it is stopped. SIGHUP reloads its routes. */
export async function gateway(args: readonly string[]): Promise<void> {
  await run(readGatewayConfig(args, process.env))
}
