import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERROR_RULES } from 'sluice/internal/core/error-rules'
import { beforeAll, describe, expect, it } from 'vitest'
import { raisedBy } from '../../../../src/core/raised.suite.ts'
import { makeCertificates } from '../../../../tests/servers/certificates.mjs'
import { makeTemporaryDir } from '../../../../tests/servers/reaper.mjs'
import { readConfig } from './config.ts'
import { readAuthority, readPair, requireFiles } from './pem-files.ts'

const dir = makeTemporaryDir('pem')
const at = (name: string): string => join(dir, name)

beforeAll(async () => {
  await makeCertificates(dir)
  writeFileSync(at('empty.pem'), '')
  writeFileSync(at('other.pem'), 'not a certificate')
  mkdirSync(at('folder'))
  execFileSync('openssl', ['pkey', '-in', at('server.key'), '-aes256', '-passout', 'pass:x', '-out', at('locked.key')])
})

const invalid = (file: string, detail: string): string =>
  `TLS_FILE_INVALID: ${at(file)}: ${detail}. ${ERROR_RULES.TLS_FILE_INVALID}`

describe('readPair', () => {
  it('reads a certificate and its key', () => {
    expect(readPair(at('server.crt'), at('server.key')).key.toString()).toContain('PRIVATE KEY')
  })

  it.each<[string, string, string, () => string]>([
    [
      'both are swapped',
      'server.key',
      'server.crt',
      () => invalid('server.key', 'it is a private key, not a certificate'),
    ],
    [
      'the key is a certificate',
      'server.crt',
      'ca.crt',
      () => invalid('ca.crt', 'it is a certificate, not a private key'),
    ],
    [
      'the key is another',
      'server.crt',
      'client.key',
      () => invalid('client.key', `the key does not match ${at('server.crt')}`),
    ],
    ['the certificate is none', 'other.pem', 'server.key', () => invalid('other.pem', 'it is not a certificate')],
    ['the certificate is empty', 'empty.pem', 'server.key', () => invalid('empty.pem', 'it is not a certificate')],
    ['the key is none', 'server.crt', 'other.pem', () => invalid('other.pem', 'it is not a private key')],
    [
      'the key is encrypted',
      'server.crt',
      'locked.key',
      () => invalid('locked.key', 'the key is encrypted, and its passphrase cannot be entered'),
    ],
    [
      'the certificate is a folder',
      'folder',
      'server.key',
      () => `FILE_UNREADABLE: ${at('folder')}: EISDIR. ${ERROR_RULES.FILE_UNREADABLE}`,
    ],
  ])('says so when %s', (_, cert, key, message) => {
    expect(raisedBy(() => readPair(at(cert), at(key)))).toBe(message())
  })

  it('shows nothing of a key', () => {
    expect(raisedBy(() => readPair(at('server.key'), at('server.key')))).not.toContain('BEGIN')
  })
})

describe('readAuthority', () => {
  it('says so when the file is no certificate', () => {
    expect(raisedBy(() => readAuthority(at('ca.key')))).toBe(
      invalid('ca.key', 'it is a private key, not a certificate'),
    )
  })
})

describe('requireFiles', () => {
  it.each<[string, string[], string]>([
    ['gRPC', ['--grpc-tls', '--grpc-tls-cert', 'server.key', '--grpc-tls-key', 'server.crt'], 'server.key'],
    [
      'clients of gRPC',
      ['--grpc-tls', '--grpc-tls-cert', 'server.crt', '--grpc-tls-key', 'server.key', '--grpc-client-ca', 'other.pem'],
      'other.pem',
    ],
    ['Redis', ['--redis', 'rediss://a', '--redis-cert', 'client.key', '--redis-key', 'client.crt'], 'client.key'],
    ['the authority of Redis', ['--redis', 'rediss://a', '--redis-ca', 'other.pem'], 'other.pem'],
  ])('looks at the files of %s', (_, args, file) => {
    const config = readConfig(
      args.map((arg) => (/\.(crt|key|pem)$/.test(arg) ? at(arg) : arg)),
      {},
    )
    expect(raisedBy(() => requireFiles(config))).toMatch(`TLS_FILE_INVALID: ${at(file)}: `)
  })
})
