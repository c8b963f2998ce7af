// @ts-check
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from './ports.mjs'
import { makeTemporaryDir } from './reaper.mjs'
import { ServerProcess } from './server-process.mjs'
import { until } from './until.mjs'

/** An nginx of one process that this process has started, and that ends with it. */
export class NginxServer {
  #dir
  #process

  /** @param {{ dir: string, port: number }} settings */
  constructor({ dir, port }) {
    this.#dir = dir
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.#process = new ServerProcess({ command: 'nginx', args: ['-c', join(dir, 'nginx.conf'), '-p', dir], dir })
  }

  get isRunning() {
    return this.#process.isRunning
  }

  /** Returns what it has printed. */
  log() {
    return this.#process.log()
  }

  /** Resolves when it takes connections, and rejects with its log when it ends instead. */
  async ready() {
    await until(`nginx listens at ${this.url}`, async () => !this.isRunning || (await isOpen(this.port)))
    if (!this.isRunning) throw new Error(`nginx ended: ${this.log().trim()}`)
  }

  /** Ends it for good and removes its folder. */
  async stop() {
    await this.#process.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose]() {
    await this.stop()
  }
}

/**
 * Says whether a port takes connections.
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/**
 * Writes the configuration of an nginx without a master process, so that to kill one process ends all of it.
 * @param {{ dir: string, port: number, server: string, http: string }} settings
 * @returns {string}
 */
function configOf({ dir, port, server, http }) {
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`)
  return `
daemon off; master_process off; worker_processes 1; pid ${dir}/pid; error_log stderr warn;
events { worker_connections 512; }
http {
  access_log off; ${temps.join(' ')}
  ${http}
  server { listen 127.0.0.1:${port}; ${server} }
}
`
}

/**
 * Returns an nginx as a proxy for a port of this machine.
 * @param {number} upstreamPort
 * @param {string} [directives] of its server block
 * @returns {Promise<NginxServer>}
 */
export function startNginxProxy(upstreamPort, directives = '') {
  const pass =
    'proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;'
  return startNginx({
    http: `upstream app { server 127.0.0.1:${upstreamPort}; keepalive 8; }`,
    server: `${directives} location / { ${pass} }`,
  })
}

/**
 * Starts nginx on a free port. `server` is the inside of its server block, `http` what stands before that.
 * @param {{ server: string, http?: string }} settings
 * @returns {Promise<NginxServer>}
 */
export async function startNginx({ server, http = '' }) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const dir = makeTemporaryDir('nginx')
    writeFileSync(join(dir, 'nginx.conf'), configOf({ dir, port, server, http }))
    const nginx = new NginxServer({ dir, port })
    try {
      await nginx.ready()
      return nginx
    } catch (error) {
      const isTaken = nginx.log().includes('Address already in use')
      await nginx.stop()
      if (attempt === 5 || !isTaken) throw error
    }
  }
}
