import { createSecureContext, rootCertificates, type SecureContext, type SecureContextOptions } from 'node:tls'
import { SluiceError } from 'sluice/internal/core/errors'
import { SourceFault } from '../../sources/remote-source.ts'
import { type PemPair, readAuthority, readPair } from '../settings/pem-files.ts'
import type { RulesTls } from '../settings/remote-rules.ts'

/**
 * Returns what makes the TLS context of the next connection: the files may have changed since the last. To read the
 * certificates of all authorities anew takes milliseconds, so a context is used again while they are the same.
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

/** Adds the authority to those that there are anyway: Node.js would take it in their place. */
function optionsOf({ ca, ...pair }: Files): SecureContextOptions {
  return { minVersion: 'TLSv1.2', ...pair, ...(ca && { ca: [...knownAuthorities(), ca.toString('latin1')] }) }
}

/** knownAuthorities also are those of NODE_EXTRA_CA_CERTS, where Node.js tells them (22.15 and newer). */
function knownAuthorities(): readonly string[] {
  const { getCACertificates } = process.getBuiltinModule('node:tls') as Partial<Record<string, unknown>>
  if (typeof getCACertificates !== 'function') return rootCertificates
  return getCACertificates('default') as readonly string[]
}

/** Has a file that is wrong be a fault of the source: the next connection may find another. */
function faulty<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new SourceFault(error instanceof SluiceError ? `${error.where}: ${error.detail}` : (error as Error).message)
  }
}
