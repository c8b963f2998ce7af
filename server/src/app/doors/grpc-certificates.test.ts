import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { makeCertificates } from '../../../../tests/servers/certificates.mjs'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import type { GrpcTlsOptions } from '../../grpc/index.ts'
import { logTo } from '../log/log.ts'
import { CertificateWatch, grpcTls } from './grpc-certificates.ts'

const made = makeTemporaryDir('made')
const textOf = (name: string): string => readFileSync(join(made, name), 'utf8')

beforeAll(async () => {
  await makeCertificates(made)
})

/** Makes a directory as Kubernetes mounts a secret: `tls.crt` leads to `..data/tls.crt`, `..data` to a version. */
function mounted() {
  const dir = makeTemporaryDir('mounted')
  let version = 0
  const write = (cert: string, key: string): void => {
    const name = `..version-${version++}`
    mkdirSync(join(dir, name))
    writeFileSync(join(dir, name, 'tls.crt'), textOf(cert))
    writeFileSync(join(dir, name, 'tls.key'), textOf(key))
    symlinkSync(name, join(dir, '..data.new'))
    renameSync(join(dir, '..data.new'), join(dir, '..data'))
  }
  write('server.crt', 'server.key')
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(dir, file))
  return { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key'), write }
}

function watching() {
  const { certFile, keyFile, write } = mounted()
  const used: GrpcTlsOptions[] = []
  const logged: string[] = []
  const watch = new CertificateWatch(
    { certFile, keyFile, clientCaFile: undefined, clientSan: undefined },
    (options) => used.push(options),
    logTo(({ event, message }) => logged.push(`${event}: ${message}`)),
  )
  const look = (times: number): void => {
    for (let i = 0; i < times; i++) watch.look()
  }
  return { write, used, logged, look, watch, certFile, keyFile }
}

describe('CertificateWatch', () => {
  it('leaves what has not changed alone', () => {
    const { look, used, logged } = watching()
    look(5)
    expect([used, logged]).toEqual([[], []])
  })

  it('takes a pair that Kubernetes swapped, once it rests', () => {
    const { look, used, logged, write, certFile } = watching()
    look(1)
    write('client.crt', 'client.key')
    look(1)
    expect(used).toEqual([])
    look(3)
    expect(used.map(({ cert }) => String(cert))).toEqual([textOf('client.crt')])
    expect(logged).toEqual([`tls.loaded: new connections see the certificate of ${certFile} as it is now`])
  })

  it('keeps the old pair when the new one is wrong, says so once, and takes the next that is right', () => {
    const { look, used, logged, write, certFile, keyFile } = watching()
    look(1)
    write('client.crt', 'server.key')
    look(5)
    expect(used).toEqual([])
    expect(logged).toEqual([
      'tls.refused: changed certificates are refused, the last good ones stay in use:\n' +
        `TLS_FILE_INVALID: ${keyFile}: the key does not match ${certFile}. ` +
        'Certificates and private keys must be PEM files, and the key must match its certificate.',
    ])
    write('client.crt', 'client.key')
    look(2)
    expect(used).toHaveLength(1)
  })

  it('says so when a file is gone', () => {
    const { look, logged, certFile } = watching()
    look(1)
    renameSync(certFile, `${certFile}.old`)
    look(3)
    expect(logged).toHaveLength(1)
    expect(logged[0]).toContain(`FILE_UNREADABLE: ${certFile}: the file does not exist (ENOENT)`)
  })

  it('looks once a second until it is stopped', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { used, write, watch } = watching()
    watch.start()
    write('client.crt', 'client.key')
    vi.advanceTimersByTime(2_000)
    expect(used).toHaveLength(1)
    watch.stop()
    write('server.crt', 'server.key')
    vi.advanceTimersByTime(5_000)
    expect(used).toHaveLength(1)
  })

  it('sees a change that comes before the first look', () => {
    const { look, used, write } = watching()
    write('client.crt', 'client.key')
    look(2)
    expect(used).toHaveLength(1)
  })
})

describe('grpcTls', () => {
  it('asks clients for a certificate where there is an authority for them', () => {
    const at = (name: string): string => join(made, name)
    const files = { certFile: at('server.crt'), keyFile: at('server.key'), clientSan: undefined }
    expect(grpcTls({ ...files, clientCaFile: undefined })).not.toHaveProperty('requestCert')
    expect(grpcTls({ ...files, clientCaFile: at('ca.crt') })).toMatchObject({
      requestCert: true,
      rejectUnauthorized: true,
    })
  })
})
