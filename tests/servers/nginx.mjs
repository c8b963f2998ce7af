// @ts-check
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** NginxServer is an nginx with one worker that this process has started, and that ends with it. */
export class NginxServer {
  #process

  /** @param {{ dir: string, port: number }} settings */
  constructor({ dir, port }) {
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    const args = ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log')]
    this.#process = new ServerProcess({ command: 'nginx', args, dir })
  }

  /** ready resolves when it takes connections, and rejects with its log when it ends instead. */
  async ready() {
    const answers = async () => (await fetch(`${this.url}/`)).status > 0
    await until(`nginx answers at ${this.url}`, async () => !this.#process.isRunning || (await answers()))
    if (!this.#process.isRunning) throw new Error(`nginx ended: ${this.#process.log().trim()}`)
  }

  stop() {
    return this.#process.terminate()
  }
}

/**
 * startNginx starts an nginx with a `server` block of these directives, as a proxy for a port when one is given. It
 * answers `GET /` once before it is returned.
 * @param {{ upstreamPort?: number, directives?: string }} settings
 */
export async function startNginx({ upstreamPort, directives = '' }) {
  const dir = makeTemporaryDir('nginx')
  const port = await freePort()
  const temporary = TEMPORARY.map((name) => `${name}_temp_path ${dir}/${name};`).join(' ')
  const pass =
    upstreamPort === undefined
      ? 'return 200 "ok";'
      : 'proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;'
  const upstream = upstreamPort === undefined ? '' : `upstream app { server 127.0.0.1:${upstreamPort}; keepalive 8; }`
  writeFileSync(
    join(dir, 'nginx.conf'),
    `worker_processes 1; daemon off; pid ${dir}/pid; error_log ${dir}/error.log crit;
events { worker_connections 512; }
http {
  access_log off; ${temporary} ${upstream}
  server { listen 127.0.0.1:${port}; ${directives} location / { ${pass} } }
}
`,
  )
  const server = new NginxServer({ dir, port })
  await server.ready()
  return server
}
