import { createSecureContext, rootCertificates, type SecureContext, type SecureContextOptions } from 'node:tls'
import { SluiceError } from 'sluice/internal/core/errors'
import { SourceFault } from '../../sources/remote-source.ts'
import { type PemPair, readAuthority, readPair } from '../settings/pem-files.ts'
import type { RulesTls } from '../settings/remote-rules.ts'

/**
 * Returns a function that makes the TLS context of the next connection: the files may have changed since the last one.
 * Reading the certificates of all authorities takes milliseconds, so a context is reused while they are the same.
 */
export function rulesTls(tls: RulesTls): () => SecureContext | undefined {
  let made: { readonly of: string; readonly context: SecureContext } | undefined
  return () => {
    if (Object.values(tls).every((file) => file === undefined)) return undefined
    const files = faulty(() => readFiles(tls))
    const of = JSON.stringify(Object.values(files).map((content) => content?.toString('latin1')))
    if (made?.of !== of) made = { of, context: faulty(() => createSecureContext(optionsOf(files))) }
    return made.context
  }
}

interface Files extends Partial<PemPair> {
  readonly ca?: Buffer
}

function readFiles({ caFile, certFile, keyFile }: RulesTls): Files {
  return {
    ...(caFile !== undefined && { ca: readAuthority(caFile) }),
    ...(certFile !== undefined && keyFile !== undefined && readPair(certFile, keyFile)),
  }
}

/** Adds the authority to the default ones: Node.js would use it in their place. */
function optionsOf({ ca, ...pair }: Files): SecureContextOptions {
  return { minVersion: 'TLSv1.2', ...pair, ...(ca && { ca: [...knownAuthorities(), ca.toString('latin1')] }) }
}

/** Returns the default authorities, including NODE_EXTRA_CA_CERTS where Node.js exposes them (22.15 and newer). */
function knownAuthorities(): readonly string[] {
  const { getCACertificates } = process.getBuiltinModule('node:tls') as Partial<Record<string, unknown>>
  if (typeof getCACertificates !== 'function') return rootCertificates
  return getCACertificates('default') as readonly string[]
}

/** Turns an invalid file into a fault of the source: the next connection may find a valid one. */
function faulty<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new SourceFault(error instanceof SluiceError ? `${error.where}: ${error.detail}` : (error as Error).message)
  }
}
