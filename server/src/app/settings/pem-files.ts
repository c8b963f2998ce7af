import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Config } from './config.ts'
import type { RedisTls } from './counter-settings.ts'

/** A certificate, with its chain, and the key that belongs to it. */
export interface PemPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Reads a certificate or a key that a setting names. */
export function readPem(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SluiceError(
      'FILE_UNREADABLE',
      file,
      code === 'ENOENT' ? 'the file does not exist (ENOENT)' : String(code),
    )
  }
}

/** Reads a certificate and its key, and throws when they do not match: a handshake would explain much less. */
export function readPair(certFile: string, keyFile: string): PemPair {
  const [cert, key] = [readPem(certFile), readPem(keyFile)]
  const certificate = certificateOf(cert, certFile)
  if (!certificate.checkPrivateKey(keyOf(key, keyFile))) {
    throw new SluiceError('TLS_FILE_INVALID', keyFile, `the key does not match ${certFile}`)
  }
  try {
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
  } catch (error) {
    throw new SluiceError('TLS_FILE_INVALID', certFile, (error as Error).message)
  }
  return { cert, key }
}

/** Reads the certificate of an authority, or of several. */
export function readAuthority(file: string): Buffer {
  const ca = readPem(file)
  certificateOf(ca, file)
  return ca
}

function certificateOf(pem: Buffer, file: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    const detail = isKey(pem) ? 'it is a private key, not a certificate' : 'it is not a certificate'
    throw new SluiceError('TLS_FILE_INVALID', file, detail)
  }
}

function keyOf(pem: Buffer, file: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new SluiceError('TLS_FILE_INVALID', file, wrongWithKey(pem))
  }
}

function wrongWithKey(pem: Buffer): string {
  if (pem.includes('BEGIN ENCRYPTED') || pem.includes('4,ENCRYPTED'))
    return 'the key is encrypted, and its passphrase cannot be entered'
  return pem.includes('-----BEGIN CERTIFICATE') ? 'it is a certificate, not a private key' : 'it is not a private key'
}

function isKey(pem: Buffer): boolean {
  return /-----BEGIN [A-Z ]*PRIVATE KEY/.test(pem.toString('latin1'))
}

/** Reads the files for TLS to Redis. */
export function readRedisTls({ caFile, certFile, keyFile }: RedisTls): Partial<PemPair> & { readonly ca?: Buffer } {
  return {
    ...(caFile !== undefined && { ca: readAuthority(caFile) }),
    ...(certFile !== undefined && keyFile !== undefined && readPair(certFile, keyFile)),
  }
}

/** Throws when a file that the settings name cannot be read, or has the wrong content. */
export function requireFiles({ redisTls, grpc, gateway }: Config): void {
  readRedisTls(redisTls)
  for (const tls of [grpc.tls, gateway?.tls]) {
    if (tls === undefined) continue
    readPair(tls.certFile, tls.keyFile)
    if (tls.clientCaFile !== undefined) readAuthority(tls.clientCaFile)
  }
}
