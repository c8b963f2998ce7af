import { readFileSync } from 'node:fs'
import { SluiceError } from 'sluice/internal/core/errors'
import type { Config } from './config.ts'

/** readPem reads a certificate or a key that a setting names. */
export function readPem(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SluiceError('FILE_UNREADABLE', file, code === 'ENOENT' ? 'it does not exist (ENOENT)' : String(code))
  }
}

/** requireFiles throws when a file that the settings name cannot be read. */
export function requireFiles({ redisTls, grpc }: Config): void {
  const { caFile, certFile, keyFile } = redisTls
  const { tls } = grpc
  const named = [caFile, certFile, keyFile, tls?.certFile, tls?.keyFile, tls?.clientCaFile]
  for (const file of named) if (file !== undefined) readPem(file)
}
