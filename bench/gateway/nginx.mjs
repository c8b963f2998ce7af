import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TICK_US = 10_000

/**
 * A limit on the requests of an address in a minute, which may come in one burst; up to what nginx can count in a
 * second.
 */
function limitOf(perMinute) {
  const [rate, burst] = perMinute % 60 === 0 ? [`${perMinute / 60}r/s`, 100_000] : [`${perMinute}r/m`, perMinute - 1]
  return {
    zone: `limit_req_zone $binary_remote_addr zone=all:10m rate=${rate};`,
    limit: `limit_req zone=all burst=${burst} nodelay; limit_req_status 429;`,
  }
}

/**
 * Starts nginx with one worker as a proxy with kept connections, and returns its port, time and end. Without
 * `perMinute` nothing is limited.
 */
export async function startNginx(command, upstreamPort, perMinute) {
  const { zone, limit } = perMinute === undefined ? { zone: '', limit: '' } : limitOf(perMinute)
  const dir = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  const port = await freePort()
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`)
  const config = `
worker_processes 1; daemon off; pid ${dir}/pid; error_log ${dir}/error.log crit;
events { worker_connections 4096; }
http {
  access_log off; ${zone} keepalive_requests 100000000; ${temps.join(' ')}
  upstream app { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      ${limit}
      proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
}`
  writeFileSync(join(dir, 'nginx.conf'), config)
  const child = spawn(command, ['-c', join(dir, 'nginx.conf'), '-p', dir], { stdio: 'ignore' })
  let worker
  for (let i = 0; i < 200 && worker === undefined; i++) {
    await new Promise((resolve) => setTimeout(resolve, 25))
    worker = childOf(child.pid)
  }
  return { port, cpuUs: () => cpuUsOf(worker), stop: () => child.kill() }
}

function childOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)[0]
  } catch {
    return undefined
  }
}

/** The processor time of a process, which the system counts in hundredths of a second. */
function cpuUsOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
