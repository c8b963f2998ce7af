import { realpathSync, statSync } from 'node:fs'
import type { GrpcTlsOptions } from '../../grpc/index.ts'
import type { Log } from '../log/log.ts'
import type { GrpcTls } from '../settings/grpc-settings.ts'
import { readAuthority, readPair } from '../settings/pem-files.ts'

/** Reads the files. With a client CA, clients without a certificate signed by it are rejected. */
export function grpcTls({ certFile, keyFile, clientCaFile, clientSan }: GrpcTls): GrpcTlsOptions {
  const { checkServerIdentity } = process.getBuiltinModule('node:tls')
  return {
    ...readPair(certFile, keyFile),
    ...(clientCaFile !== undefined && {
      ca: readAuthority(clientCaFile),
      requestCert: true,
      rejectUnauthorized: true,
    }),
    ...(clientSan !== undefined && {
      authorize: (socket) => checkServerIdentity(clientSan, socket.getPeerCertificate()) === undefined,
    }),
  }
}

const LOOK_MS = 1_000

/**
 * Has a server use new certificates when their files change. It looks at the times and sizes of the files, behind all
 * links, once a second, and reads them when two looks in a row agree on a change: certificate and key are seldom
 * written at the same instant. Invalid files are logged, and the certificates in use stay. It is created before the
 * server reads the files, so that no change is missed.
 */
export class CertificateWatch {
  readonly #tls: GrpcTls
  readonly #use: (options: GrpcTlsOptions) => void
  readonly #log: Log
  readonly #files: readonly string[]
  #inUse: string
  #seen: string
  #timer: NodeJS.Timeout | undefined

  constructor(tls: GrpcTls, use: (options: GrpcTlsOptions) => void, log: Log) {
    this.#tls = tls
    this.#use = use
    this.#log = log
    const { certFile, keyFile, clientCaFile } = tls
    this.#files = [certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])]
    this.#inUse = marksOf(this.#files)
    this.#seen = this.#inUse
  }

  /** Looks from now on. */
  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Compares the files with the ones in use, and reads them when they have changed and then stayed the same. */
  look(): void {
    const marks = marksOf(this.#files)
    const isAtRest = marks === this.#seen
    this.#seen = marks
    if (!isAtRest || marks === this.#inUse) return
    this.#inUse = marks
    this.#read()
  }

  #read(): void {
    try {
      this.#use(grpcTls(this.#tls))
      this.#log.info('tls.loaded', `new connections see the certificate of ${this.#tls.certFile} as it is now`)
    } catch (error) {
      const { message } = error as Error
      this.#log.error('tls.refused', `changed certificates are refused, the last good ones stay in use:\n${message}`)
    }
  }
}

/**
 * Returns a text that changes whenever one of the files does. Synchronous: three files on a disk take less than 0.1 ms.
 */
function marksOf(files: readonly string[]): string {
  return files.map(markOf).join('\n')
}

function markOf(file: string): string {
  try {
    const { mtimeMs, ctimeMs, size, ino } = statSync(file)
    return `${realpathSync(file)} ${mtimeMs} ${ctimeMs} ${size} ${ino}`
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
